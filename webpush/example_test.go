package webpush_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"time"

	"postage/webpush"
	"postage/webpush/pushtest"
)

// Example sends one message to one browser. The push service is one for tests;
// with a real subscription, leave Transport out.
func Example() {
	keys, err := webpush.GenerateVAPIDKeys()
	if err != nil {
		log.Fatal(err)
	}
	service := pushtest.NewServer()
	defer service.Close()
	browser := service.Subscribe(keys.PublicKey())

	ring, err := webpush.NewKeyRing(keys)
	if err != nil {
		log.Fatal(err)
	}
	client, err := webpush.NewClient(webpush.Config{Keys: ring, Subject: "mailto:ops@example.com", Transport: service.Transport()})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	sub, err := webpush.ParseSubscription(browser.JSON())
	if err != nil {
		log.Fatal(err)
	}
	receipt, err := client.Send(context.Background(), sub, []byte("Dinner is ready"), webpush.Options{
		TTL: time.Hour, Urgency: webpush.UrgencyHigh, Padding: webpush.PadToBlock(256),
	})
	if errors.Is(err, webpush.Gone) {
		log.Fatal("the browser has unsubscribed: forget it")
	} else if err != nil {
		log.Fatal(err)
	}
	fmt.Println(receipt.Status, receipt.Attempts)
	fmt.Printf("%s\n", browser.Messages()[0].Data)
	// Output:
	// 201 1
	// Dinner is ready
}

// ExampleClient_Broadcast sends to several browsers. One is gone.
func ExampleClient_Broadcast() {
	keys, err := webpush.GenerateVAPIDKeys()
	if err != nil {
		log.Fatal(err)
	}
	ring, err := webpush.NewKeyRing(keys)
	if err != nil {
		log.Fatal(err)
	}
	service := pushtest.NewServer()
	defer service.Close()
	client, err := webpush.NewClient(webpush.Config{
		Keys: ring, Subject: "mailto:ops@example.com", Transport: service.Transport(),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	var subs []webpush.Subscription
	for i := range 3 {
		browser := service.Subscribe(keys.PublicKey())
		if i == 1 {
			browser.Unsubscribe()
		}
		sub, err := webpush.ParseSubscription(browser.JSON())
		if err != nil {
			log.Fatal(err)
		}
		subs = append(subs, sub)
	}
	counts := make(map[webpush.Outcome]int)
	for _, result := range client.Broadcast(context.Background(), slices.Values(subs), []byte("Hello, all"), webpush.Options{}) {
		counts[result.Outcome()]++
	}
	fmt.Println(counts[webpush.Accepted], "accepted,", counts[webpush.Gone], "gone")
	// Output: 2 accepted, 1 gone
}
