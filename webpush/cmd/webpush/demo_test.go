package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"postage/webpush"
	"postage/webpush/pushtest"
)

// TestDemo does what the page does: gets the key, subscribes, sends.
func TestDemo(t *testing.T) {
	keys, err := makeKeys(filepath.Join(t.TempDir(), "vapid.pem"))
	if err != nil {
		t.Fatal(err)
	}
	ring, err := webpush.NewKeyRing(keys)
	if err != nil {
		t.Fatal(err)
	}
	service := pushtest.NewServer()
	defer service.Close()
	client, err := webpush.NewClient(webpush.Config{Keys: ring, Subject: "mailto:ops@example.com", Transport: service.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server := httptest.NewServer(newDemo(client, keys.PublicKey(), t.Logf))
	defer server.Close()

	key := ask(t, "GET", server.URL+"/key", nil, 200)
	browser, ended := service.Subscribe(key), service.Subscribe(key)
	ended.Unsubscribe()
	ask(t, "POST", server.URL+"/subscribe", browser.JSON(), 204)
	ask(t, "POST", server.URL+"/subscribe", ended.JSON(), 204)
	ask(t, "POST", server.URL+"/subscribe", []byte("{}"), 400)
	if got := ask(t, "POST", server.URL+"/send", []byte(`{"title":"Hello","body":"you"}`), 200); got != `{"accepted":1,"gone":1}`+"\n" {
		t.Errorf("sent: %s", got)
	}
	if got := ask(t, "POST", server.URL+"/send", []byte(`{"title":"Hello","body":"again"}`), 200); got != `{"accepted":1}`+"\n" {
		t.Errorf("the one that is gone is still sent to: %s", got)
	}
	messages := browser.Messages()
	if len(messages) != 2 || !strings.Contains(string(messages[0].Data), `"title":"Hello"`) {
		t.Errorf("%+v", messages)
	}
	for path, want := range map[string]string{"/": "<title>Web Push example", "/app.js": "pushManager.subscribe", "/sw.js": "showNotification"} {
		if got := ask(t, "GET", server.URL+path, nil, 200); !strings.Contains(got, want) {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// The command listens, and ends with its context.
func TestDemoListens(t *testing.T) {
	file := filepath.Join(t.TempDir(), "vapid.pem")
	if _, err := makeKeys(file); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var said bytes.Buffer
	p := program{stdout: &said, stderr: &said}
	if err := p.demo(ctx, []string{"-keys", file, "-subject", "mailto:you@example.com", "-addr", "localhost:0"}); err != nil || !strings.Contains(said.String(), "open http://localhost:0") {
		t.Errorf("%v: %s", err, said.String())
	}
	if err := p.demo(ctx, []string{"-keys", file}); err == nil || !strings.Contains(err.Error(), "-subject is missing") {
		t.Errorf("without a subject: %v", err)
	}
}

func ask(t *testing.T, method, url string, body []byte, status int) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status {
		t.Fatalf("%s: %d %s, %v", url, response.StatusCode, text, err)
	}
	return string(text)
}
