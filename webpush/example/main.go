// Example serves a page on which a browser subscribes to Web Push, and sends
// notifications to those that have:
//
//	go run postage/webpush/example -subject mailto:you@example.com
//
// Then open http://localhost:8080, subscribe, and press Send. Browsers allow
// push on localhost without TLS. The key pair is kept in vapid.pem; the
// subscriptions are kept in memory and forgotten on exit, where a real service
// would have a database.
package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"maps"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"sync"
	"time"

	"postage/webpush"
)

//go:embed page
var page embed.FS

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "example:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("example", flag.ContinueOnError)
	flags.SetOutput(stderr)
	addr := flags.String("addr", "localhost:8080", "address to listen on")
	keyFile := flags.String("keys", "vapid.pem", "VAPID private key file, made if it does not exist")
	subject := flags.String("subject", "", `who runs this: "mailto:" and your address, or an https URL (required)`)
	if err := flags.Parse(args); err != nil {
		return err
	}
	keys, err := loadKeys(*keyFile)
	if err != nil {
		return err
	}
	ring, err := webpush.NewKeyRing(keys)
	if err != nil {
		return err
	}
	client, err := webpush.NewClient(webpush.Config{Keys: ring, Subject: *subject, AllowOrigin: webpush.KnownPushService})
	if err != nil {
		return err
	}
	defer client.Close()
	server := &http.Server{Addr: *addr, Handler: newHandler(client, keys.PublicKey()), ReadHeaderTimeout: 10 * time.Second}
	stopped := context.AfterFunc(ctx, func() { server.Close() })
	defer stopped()
	fmt.Fprintf(stderr, "open http://%s\n", *addr)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// loadKeys reads the key pair, or makes and stores one.
func loadKeys(name string) (*webpush.VAPIDKeys, error) {
	text, err := os.ReadFile(name)
	if err == nil {
		return webpush.ParseVAPIDFile(text)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	keys, err := webpush.GenerateVAPIDKeys()
	if err != nil {
		return nil, err
	}
	if text, err = keys.PrivatePEM(); err != nil {
		return nil, err
	}
	return keys, os.WriteFile(name, text, 0o600)
}

// A handler serves the page and keeps the subscriptions.
type handler struct {
	client    *webpush.Client
	publicKey string

	mu   sync.Mutex
	subs map[string]webpush.Subscription // by endpoint
}

func newHandler(client *webpush.Client, publicKey string) http.Handler {
	h := &handler{client: client, publicKey: publicKey, subs: make(map[string]webpush.Subscription)}
	files, err := fs.Sub(page, "page")
	if err != nil {
		panic(err) // impossible: the directory is embedded
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(files))
	mux.HandleFunc("GET /key", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, h.publicKey) })
	mux.HandleFunc("POST /subscribe", h.subscribe)
	mux.HandleFunc("POST /send", h.send)
	return http.NewCrossOriginProtection().Handler(mux)
}

func (h *handler) subscribe(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 16<<10))
	if err != nil {
		http.Error(w, "too long", http.StatusRequestEntityTooLarge)
		return
	}
	sub, err := webpush.ParseSubscription(text, webpush.WithServerKey(h.publicKey))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	h.subs[sub.Endpoint()] = sub
	h.mu.Unlock()
	log.Printf("subscribed: %s", sub)
	w.WriteHeader(http.StatusNoContent)
}

func (h *handler) send(w http.ResponseWriter, r *http.Request) {
	var in struct{ Title, Body string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 8<<10)).Decode(&in); err != nil {
		http.Error(w, "not a subscription as JSON", http.StatusBadRequest)
		return
	}
	notification := webpush.Notification{Title: in.Title, Body: in.Body, Navigate: "http://" + r.Host + "/"}
	message, err := notification.Message()
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	subs := slices.Collect(maps.Values(h.subs))
	h.mu.Unlock()
	opts := webpush.Options{TTL: time.Hour, Urgency: webpush.UrgencyHigh, Padding: webpush.PadToBlock(256), ContentType: notification.ContentType()}
	counts := make(map[string]int)
	for sub, result := range h.client.Broadcast(r.Context(), slices.Values(subs), message, opts) {
		counts[result.Outcome().String()]++
		if result.Err != nil {
			log.Print(result.Err)
		}
		if errors.Is(result.Err, webpush.Gone) {
			h.mu.Lock()
			delete(h.subs, sub.Endpoint())
			h.mu.Unlock()
		}
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(counts)
}
