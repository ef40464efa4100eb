package webpush_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"postage/webpush"
)

// journalled broadcasts to the subs that the journal does not have, and tells each how many results
// there were. It returns their number.
func journalled(ctx context.Context, t *testing.T, client *webpush.Client, name string, subs []webpush.Subscription, each func(n int, r webpush.Result)) (n int) {
	t.Helper()
	journal, err := webpush.OpenJournal(name, "a test")
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	for sub, result := range client.BroadcastIndexed(ctx, journal.Rest(slices.Values(subs)), []byte("once"), webpush.Options{}) {
		if err := journal.Record(sub, result); err != nil {
			t.Fatal(err)
		}
		n++
		each(n, result)
	}
	t.Logf("of %d subscriptions %d results, %v kept", len(subs), n, journal.Kept())
	return n
}

// TestClosedDuringABroadcast closes the client half-way: what was not sent is sent when the journal
// is continued.
func TestClosedDuringABroadcast(t *testing.T) {
	service := newService(t)
	browsers, subs := audience(t, service, 200)
	name := filepath.Join(t.TempDir(), "results.ndjson")
	for run := range 2 {
		client := newClient(t, service, webpush.Config{Limits: webpush.Limits{Concurrency: 4}})
		journalled(t.Context(), t, client, name, subs, func(n int, _ webpush.Result) {
			if run == 0 && n == 50 {
				client.Close()
			}
		})
	}
	lost := 0
	for _, b := range browsers {
		if len(b.Messages()) != 1 {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d did not get their message, or got it twice", lost, len(browsers))
	}
}

// TestGoneWhileJournalled deletes subscriptions that are gone in OnGone, as the documentation says,
// and continues with what is left of the list: every other one gets its message.
func TestGoneWhileJournalled(t *testing.T) {
	service := newService(t)
	browsers, subs := audience(t, service, 100)
	for i, b := range browsers {
		if i%5 == 0 {
			b.Unsubscribe()
		}
	}
	name := filepath.Join(t.TempDir(), "results.ndjson")
	var mu sync.Mutex
	stored := slices.Clone(subs)
	for run := range 2 {
		client := newClient(t, service, webpush.Config{Limits: webpush.Limits{Concurrency: 4}, OnGone: func(_ context.Context, sub webpush.Subscription) {
			mu.Lock()
			defer mu.Unlock()
			stored = slices.DeleteFunc(stored, func(s webpush.Subscription) bool { return s == sub })
		}})
		mu.Lock()
		list := slices.Clone(stored)
		mu.Unlock()
		ctx, cancel := context.WithCancel(t.Context())
		journalled(ctx, t, client, name, list, func(n int, _ webpush.Result) {
			if run == 0 && n == 50 {
				cancel()
			}
		})
		cancel()
	}
	lost := 0
	for i, b := range browsers {
		if i%5 != 0 && len(b.Messages()) == 0 {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("%d of 80 living subscriptions were never sent to", lost)
	}
}

func TestJournalIsLocked(t *testing.T) {
	name := filepath.Join(t.TempDir(), "results.ndjson")
	journal, err := webpush.OpenJournal(name, "one")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := webpush.OpenJournal(name, "one"); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("opened twice: %v", err)
	}
	journal.Close()
	if journal, err = webpush.OpenJournal(name, "one"); err != nil {
		t.Fatal(err)
	}
	journal.Close()
}

// TestJournalOfAnotherFile opens files that are no journals: they stay as they are. Only the
// beginning of a journal's own first line may be cut off.
func TestJournalOfAnotherFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "subscriptions.json")
	for _, text := range []string{`{"subscriptions":[]}`, "x", `{"journal":"webpush 2","broadcast":"other`, `{"journal":"webpush 1"`, strings.Repeat("a", 1<<20)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if journal, err := webpush.OpenJournal(name, "one"); err == nil {
			t.Errorf("%.50s: opened", text)
			journal.Close()
		}
		if now, err := os.ReadFile(name); err != nil || string(now) != text {
			t.Errorf("%.50s: %d bytes are left of %d, %v", text, len(now), len(text), err)
		}
	}
	for _, text := range []string{"", `{`, `{"journal":"webpush 2","broadcast":"one"}`} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		journal, err := webpush.OpenJournal(name, "one")
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		journal.Close()
	}
}

// TestJournal reads back what it wrote, cut off at every byte of its last lines.
func TestJournal(t *testing.T) {
	name := filepath.Join(t.TempDir(), "results.ndjson")
	j, err := webpush.OpenJournal(name, "one")
	if err != nil {
		t.Fatal(err)
	}
	results := []webpush.Result{
		{Index: 0}, {Index: 3, Err: &webpush.SendError{Outcome: webpush.Gone, Status: 410, Reason: "gone\n\"away\""}}, {Index: 1, Err: &webpush.SendError{Outcome: webpush.RateLimited, Status: 429}},
		{Index: 2, Err: &webpush.SendError{Outcome: webpush.Unreachable, MaybeSent: true}}, {Index: 4, Err: &webpush.SendError{Outcome: webpush.Deferred}}, {Index: 6},
	}
	subs := strangers(t, 8)
	for _, r := range results {
		if err := j.Record(subs[r.Index], r); err != nil {
			t.Fatal(err)
		}
	}
	j.Close()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
	rest := func(name string) (left []int64) {
		j, err := webpush.OpenJournal(name, "one")
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		for i := range j.Rest(slices.Values(subs)) {
			left = append(left, i)
		}
		return left
	}
	if got := rest(name); !slices.Equal(got, []int64{1, 4, 5, 7}) {
		t.Errorf("left: %v", got)
	}
	last := strings.LastIndexByte(strings.TrimSuffix(string(text), "\n"), '\n') + 1
	for cut := last; cut < len(text); cut++ {
		if err := os.WriteFile(name, text[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if got := rest(name); !slices.Equal(got, []int64{1, 4, 5, 6, 7}) {
			t.Fatalf("cut at %d: left %v", cut, got)
		}
		if again, err := os.ReadFile(name); err != nil || string(again) != string(text[:last]) {
			t.Fatalf("cut at %d: the half line is left", cut)
		}
	}
	if _, err := webpush.OpenJournal(name, "another"); err == nil || !strings.Contains(err.Error(), "not the journal of this broadcast") {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(name, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := webpush.OpenJournal(name, "one"); err == nil {
		t.Error("a file of another kind is taken")
	}
}
