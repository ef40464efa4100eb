package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"postage/webpush"
)

//go:embed page
var page embed.FS

func (p program) demo(ctx context.Context, args []string) error {
	f := p.newFlags("demo", `usage: webpush demo [flags]

Serves a page on which your own browser subscribes, and a button that sends to all that have.
Browsers allow push on localhost without TLS. Subscriptions are forgotten on exit, where a real
service would have a database.

  webpush keys
  webpush demo -subject mailto:you@example.com`)
	flags := new(sending)
	flags.addClient(f)
	addr := f.String("addr", "localhost:8080", "`address` to listen on")
	if _, err := parse(f, args, 0); err != nil {
		return err
	}
	client, err := p.client(*flags, webpush.Config{AllowOrigin: webpush.KnownPushService})
	if err != nil {
		return err
	}
	defer client.Close()
	keys, err := loadKeys(flags.keys)
	if err != nil {
		return err
	}
	server := &http.Server{Addr: *addr, Handler: newDemo(client, keys.PublicKey(), p.say), ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	p.say("open http://%s", *addr)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// A demo keeps the subscriptions.
type demo struct {
	client    *webpush.Client
	publicKey string
	say       func(format string, a ...any)

	mu   sync.Mutex
	subs map[string]webpush.Subscription // by endpoint
}

func newDemo(client *webpush.Client, publicKey string, say func(string, ...any)) http.Handler {
	d := &demo{client: client, publicKey: publicKey, say: say, subs: make(map[string]webpush.Subscription)}
	files, err := fs.Sub(page, "page")
	if err != nil {
		panic(err) // impossible: the directory is embedded
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(files))
	mux.HandleFunc("GET /key", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, d.publicKey) })
	mux.HandleFunc("POST /subscribe", d.subscribe)
	mux.HandleFunc("POST /send", d.send)
	return http.NewCrossOriginProtection().Handler(mux)
}

func (d *demo) subscribe(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 16<<10))
	if err != nil {
		http.Error(w, "too long", http.StatusRequestEntityTooLarge)
		return
	}
	sub, err := webpush.ParseSubscription(text, webpush.WithServerKey(d.publicKey))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	d.mu.Lock()
	d.subs[sub.Endpoint()] = sub
	d.mu.Unlock()
	d.say("subscribed: %s", sub)
	w.WriteHeader(http.StatusNoContent)
}

func (d *demo) send(w http.ResponseWriter, r *http.Request) {
	var in struct{ Title, Body string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 8<<10)).Decode(&in); err != nil {
		http.Error(w, "not a title and a body as JSON", http.StatusBadRequest)
		return
	}
	message, err := json.Marshal(map[string]any{ // a browser that knows declarative messages shows it by itself
		"web_push": 8030, "notification": map[string]string{"title": in.Title, "body": in.Body, "navigate": "http://" + r.Host + "/"},
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	d.mu.Lock()
	subs := slices.Collect(maps.Values(d.subs))
	d.mu.Unlock()
	opts := webpush.Options{TTL: time.Hour, Urgency: webpush.UrgencyHigh, Padding: webpush.PadToBlock(256), ContentType: "application/notification+json"}
	counts := make(map[string]int)
	for sub, result := range d.client.Broadcast(r.Context(), slices.Values(subs), message, opts) {
		counts[result.Outcome().String()]++
		if result.Err != nil {
			d.say("%v", result.Err)
		}
		if errors.Is(result.Err, webpush.Gone) {
			d.mu.Lock()
			delete(d.subs, sub.Endpoint())
			d.mu.Unlock()
		}
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(counts)
}
