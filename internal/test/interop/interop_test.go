// Package interop tests package webpush against other implementations, which its own module does
// not require: golang-jwt verifies our tokens and makes some for our receiver, npm's and PyPI's
// http_ece open what we seal, our receiver opens what npm's web-push seals, and a broadcast stands
// beside the loop that one writes with webpush-go.
//
// What npm and PyPI have is installed at the versions in package-lock.json and requirements.txt, if
// POSTAGE_LONG is set:
//
//	POSTAGE_LONG=1 go test -v ./internal/test/interop
//
// Where npm or python3 is missing these tests are skipped, except under CI=true, where that is a
// failure.
package interop

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"postage/webpush"
	"postage/webpush/receiver"
)

var b64 = base64.RawURLEncoding

// need skips the test unless it is asked for and the programs are there.
func need(t *testing.T, programs ...string) {
	t.Helper()
	if os.Getenv("POSTAGE_LONG") == "" {
		t.Skip("needs npm, python3 and their registries: POSTAGE_LONG=1")
	}
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("CI has to have it: %v", err)
			}
			t.Skipf("cannot check: %v", err)
		}
	}
}

func run(t *testing.T, dir string, stdin []byte, name string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Dir, command.Stdin = dir, bytes.NewReader(stdin)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}

// workspace copies the files to a new directory, so that nothing is installed
// into the repository.
func workspace(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func npm(t *testing.T, script string) string {
	t.Helper()
	need(t, "npm", "node")
	dir := workspace(t, "package.json", "package-lock.json", script)
	run(t, dir, nil, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	return dir
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A sealed is a message of ours and what opens it.
type sealed struct {
	name    string
	message []byte
	input   []byte // a line for decrypt.js and decrypt.py
}

// sealEverything seals messages of every mode, length and padding, each
// twice in one broadcast, so that what is kept is used.
func sealEverything(t *testing.T) []sealed {
	t.Helper()
	r, err := receiver.Generate()
	if err != nil {
		t.Fatal(err)
	}
	text, err := r.SubscriptionJSON("https://push.example/interop")
	if err != nil {
		t.Fatal(err)
	}
	sub, err := webpush.ParseSubscription(text)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := webpush.GenerateVAPIDKeys()
	if err != nil {
		t.Fatal(err)
	}
	ring, err := webpush.NewKeyRing(keys)
	if err != nil {
		t.Fatal(err)
	}
	var all []sealed
	for _, mode := range []webpush.Reuse{
		webpush.Reuse{}, webpush.SharedKey(time.Hour), webpush.SessionKeys(time.Hour, 10),
	} {
		var bodies [][]byte
		client, err := webpush.NewClient(webpush.Config{Keys: ring, Subject: "mailto:ops@example.com", Reuse: mode, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			bodies = append(bodies, body)
			return &http.Response{StatusCode: http.StatusCreated, Body: http.NoBody}, err
		})})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		for padding, p := range map[string]webpush.Padding{"none": {}, "128": webpush.PadToBlock(128), "4096": webpush.PadToBlock(3994)} {
			for _, length := range []int{0, 1, 365, webpush.MaxMessageBytes} {
				message := make([]byte, length)
				rand.Read(message)
				bodies = nil
				for _, result := range client.Broadcast(t.Context(), slices.Values([]webpush.Subscription{sub, sub}), message, webpush.Options{Padding: p}) {
					if result.Err != nil {
						t.Fatal(result.Err)
					}
				}
				for again, body := range bodies {
					line, err := json.Marshal(map[string]string{
						"private": b64.EncodeToString(r.PrivateKey()), "auth": b64.EncodeToString(r.Auth()), "body": b64.EncodeToString(body),
					})
					if err != nil {
						t.Fatal(err)
					}
					all = append(all, sealed{fmt.Sprintf("%s, padding %s, %d bytes, message %d", mode, padding, length, again+1), message, line})
				}
			}
		}
	}
	return all
}

// decrypt feeds every message to a program and compares what it says.
func decrypt(t *testing.T, dir, program, script string) {
	t.Helper()
	all := sealEverything(t)
	var stdin bytes.Buffer
	for _, s := range all {
		stdin.Write(append(s.input, '\n'))
	}
	lines := strings.Split(strings.TrimSuffix(run(t, dir, stdin.Bytes(), program, script), "\n"), "\n")
	if len(lines) != len(all) {
		t.Fatalf("%d answers to %d messages", len(lines), len(all))
	}
	opened := 0
	for i, s := range all {
		if lines[i] != b64.EncodeToString(s.message) {
			t.Errorf("%s: %.80s", s.name, lines[i])
			continue
		}
		opened++
	}
	t.Logf("%s opened %d of %d messages", script, opened, len(all))
}

func TestNPMDecrypts(t *testing.T) {
	dir := npm(t, "decrypt.js")
	decrypt(t, dir, "node", "decrypt.js")
}

func TestPyPIDecrypts(t *testing.T) {
	need(t, "python3")
	dir := workspace(t, "requirements.txt", "decrypt.py")
	run(t, dir, nil, "python3", "-m", "venv", "venv")
	python := filepath.Join(dir, "venv", "bin", "python")
	run(t, dir, nil, python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt")
	decrypt(t, dir, python, "decrypt.py")
}

// TestWeOpenWebPush opens what npm's web-push makes, and verifies its token.
func TestWeOpenWebPush(t *testing.T) {
	dir := npm(t, "send.js")
	r, err := receiver.Generate()
	if err != nil {
		t.Fatal(err)
	}
	subscription, err := r.SubscriptionJSON("https://push.example/interop")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := webpush.GenerateVAPIDKeys()
	if err != nil {
		t.Fatal(err)
	}
	var stdin bytes.Buffer
	var messages [][]byte
	for _, length := range []int{1, 365, webpush.MaxMessageBytes} {
		message := make([]byte, length)
		rand.Read(message)
		messages = append(messages, message)
		line, err := json.Marshal(map[string]any{
			"subscription": json.RawMessage(subscription), "message": b64.EncodeToString(message),
			"publicKey": keys.PublicKey(), "privateKey": keys.PrivateKey(), "subject": "mailto:ops@example.com",
		})
		if err != nil {
			t.Fatal(err)
		}
		stdin.Write(append(line, '\n'))
	}
	decoder := json.NewDecoder(strings.NewReader(run(t, dir, stdin.Bytes(), "node", "send.js")))
	for _, message := range messages {
		var request struct{ Authorization, TTL, Encoding, Body, Error string }
		if err := decoder.Decode(&request); err != nil || request.Error != "" {
			t.Fatalf("%v %s", err, request.Error)
		}
		body, err := b64.DecodeString(request.Body)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Open(body); err != nil || !bytes.Equal(got, message) {
			t.Errorf("%d bytes: %v", len(message), err)
		}
		claims, err := receiver.VerifyVAPID(request.Authorization, "https://push.example", time.Now())
		if err != nil || claims.PublicKey != keys.PublicKey() || claims.Subject != "mailto:ops@example.com" || request.Encoding != "aes128gcm" || request.TTL != "60" {
			t.Errorf("%+v, %+v, %v", request, claims, err)
		}
	}
	t.Logf("opened %d messages of web-push", len(messages))
}
