//go:build unix

package webpush_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"postage/webpush"
	"postage/webpush/pushtest"
)

// The test program is also the sender that tests start as a process of its own.
func TestMain(m *testing.M) {
	switch os.Getenv("WEBPUSH_TEST_CHILD") {
	case "broadcast":
		if err := childBroadcast(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case "proxy":
		os.Exit(exitCode(childProxy(os.Args[1])))
	}
	os.Exit(m.Run())
}

func exitCode(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// childConcurrency bounds what a killed sender has under way.
const childConcurrency = 8

// childBroadcast sends to the subscriptions in a folder, with the journal there.
func childBroadcast(folder string) error {
	var subs []webpush.Subscription
	file, err := os.Open(filepath.Join(folder, "subs.ndjson"))
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		sub, err := webpush.ParseSubscription(lines.Bytes())
		if err != nil {
			return err
		}
		subs = append(subs, sub)
	}
	journal, err := webpush.OpenJournal(filepath.Join(folder, "results.ndjson"), "kill test")
	if err != nil {
		return err
	}
	defer journal.Close()
	transport, err := trusting(filepath.Join(folder, "root.pem"))
	if err != nil {
		return err
	}
	keys, err := webpush.GenerateVAPIDKeys()
	if err != nil {
		return err
	}
	ring, err := webpush.NewKeyRing(keys)
	if err != nil {
		return err
	}
	client, err := webpush.NewClient(webpush.Config{Keys: ring, Subject: "mailto:ops@example.com", Transport: transport, Limits: webpush.Limits{Concurrency: childConcurrency}})
	if err != nil {
		return err
	}
	defer client.Close()
	for sub, result := range client.BroadcastIndexed(context.Background(), journal.Rest(slices.Values(subs)), []byte("once"), webpush.Options{}) {
		if result.Err != nil {
			return result.Err
		}
		if err := journal.Record(sub, result); err != nil {
			return err
		}
	}
	return nil
}

// trusting is a transport of ours that takes this machine's addresses and trusts one
// certificate.
func trusting(root string) (*http.Transport, error) {
	text, err := os.ReadFile(root)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	transport := webpush.NewTransport(netip.Addr.IsLoopback)
	transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	return transport, nil
}

func writeRoot(service *pushtest.Server, file string) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: service.Certificate().Raw}), 0o600)
}

// TestKilled kills a sender with signal 9 in the middle, three times, and starts it again: nothing
// is lost, and nothing is sent twice except what was under way.
func TestKilled(t *testing.T) {
	t.Parallel()
	const n, kills = 1500, 3
	service := newService(t, pushtest.Always(pushtest.Slow(2*time.Millisecond)))
	browsers := make([]*pushtest.Browser, n)
	var lines []byte
	for i := range browsers {
		browsers[i] = service.Subscribe("")
		lines = append(append(lines, browsers[i].JSON()...), '\n')
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "subs.ndjson"), lines, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeRoot(service, filepath.Join(folder, "root.pem")); err != nil {
		t.Fatal(err)
	}
	start := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0], folder)
		cmd.Env = append(os.Environ(), "WEBPUSH_TEST_CHILD=broadcast")
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	for i := range kills {
		cmd := start()
		for deadline := time.Now().Add(time.Minute); service.Accepted() < (i+1)*n/(kills+1); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("only %d messages in a minute", service.Accepted())
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("it had ended before it was killed")
		}
	}
	if err := start().Wait(); err != nil {
		t.Fatal(err)
	}
	lost, doubled := 0, 0
	for _, b := range browsers {
		messages := b.Messages()
		if len(messages) == 0 {
			lost++
		} else {
			doubled += len(messages) - 1
		}
		for _, m := range messages {
			if m.Err != nil || string(m.Data) != "once" {
				t.Errorf("%q, %v", m.Data, m.Err)
			}
		}
	}
	t.Logf("%d lost, %d doubled of %d, after %d kills with %d under way at most", lost, doubled, n, kills, childConcurrency)
	if lost > 0 || doubled > kills*(childConcurrency+1) { // and one whose result was being written
		t.Errorf("%d lost, %d doubled", lost, doubled)
	}
	before := service.Requests()
	if err := start().Wait(); err != nil || service.Requests() != before {
		t.Errorf("once more: %v, %d requests", err, service.Requests()-before)
	}
}
