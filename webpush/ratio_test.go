package webpush

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"
)

// TestRatios prints how long each operation takes beside others, measured in
// turns in this one process: on a busy machine figures of separate runs cannot
// be compared. It runs only with POSTAGE_LONG=hours; the instrument proper is
// stage/seal.
func TestRatios(t *testing.T) {
	if os.Getenv("POSTAGE_LONG") != "hours" {
		t.Skip("needs an idle machine: POSTAGE_LONG=hours")
	}
	operations := newWorkload(t).operations(t)
	samples := measureInTurns(t, operations, 60)
	median := func(name string) float64 {
		values := slices.Clone(samples[name])
		slices.Sort(values)
		return values[len(values)/2]
	}
	for _, op := range operations {
		t.Logf("%-60s %9.0f ns/op", op.name, median(op.name))
	}
	const request, parts, aead = "as=request/pad=none", "as=parts/pad=none", "floor=aes-gcm/plaintext=366"
	strict, shared, session := "lib=webpush/mode=strict/", "lib=webpush/mode=shared/", "lib=webpush/mode=session/"
	full := []string{"floor=keygen", "floor=ecdh", "floor=hkdf", aead}
	for _, r := range []struct {
		name        string
		a           string
		b           []string
		want        float64
		wantAtLeast bool
	}{
		{"webpush-go / strict", "lib=webpush-go/pad=none", []string{strict + request}, 2.3, true},
		{"webpush-go / strict, padded", "lib=webpush-go/pad=4096", []string{strict + "as=request/pad=4096"}, 2.3, true},
		{"webpush-go / shared key", "lib=webpush-go/pad=none", []string{shared + request}, 2.8, true},
		{"webpush-go / session keys", "lib=webpush-go/pad=none", []string{session + request}, 30, true},
		{"strict / composed floor", strict + request, full, 1.15, false},
		{"shared key / composed floor", shared + request, full[1:], 1.15, false},
		{"session keys, request / composed floor", session + request, []string{"floor=hkdf-content", aead}, 1.6, false},
		{"session keys, parts / composed floor", session + parts, []string{"floor=hkdf-content", aead}, 1.2, false},
		{"session keys, request / floor with crypto/hkdf", session + request, []string{"floor=crypto/hkdf-content", aead}, 1.6, false},
		{"session keys, parts / floor with crypto/hkdf", session + parts, []string{"floor=crypto/hkdf-content", aead}, 1.2, false},
	} {
		logs := make([]float64, len(samples[r.a]))
		for i := range logs {
			sum := 0.0
			for _, name := range r.b {
				sum += samples[name][i]
			}
			logs[i] = math.Log(samples[r.a][i] / sum)
		}
		slices.Sort(logs)
		n := len(logs)
		at := func(q float64) float64 { return math.Exp(logs[int(q*float64(n-1))]) }
		bound := "at most"
		if r.wantAtLeast {
			bound = "at least"
		}
		t.Logf("%-50s %6.2f  (quartiles %.2f to %.2f), wanted %s %.2f", r.name, at(0.5), at(0.25), at(0.75), bound, r.want)
	}
}

// measureInTurns times a batch of each operation in every round, in random
// order, and returns ns/op by name and round.
func measureInTurns(t *testing.T, operations []operation, rounds int) map[string][]float64 {
	batch := make([]int, len(operations))
	for i, op := range operations {
		for batch[i] = 1; ; batch[i] *= 2 {
			if elapsed := timeBatch(t, op, batch[i]); elapsed > 4*time.Millisecond {
				break
			}
		}
	}
	samples := make(map[string][]float64)
	for range rounds {
		for _, i := range rand.Perm(len(operations)) {
			elapsed := timeBatch(t, operations[i], batch[i])
			samples[operations[i].name] = append(samples[operations[i].name], float64(elapsed)/float64(batch[i]))
		}
	}
	return samples
}

func timeBatch(t *testing.T, op operation, n int) time.Duration {
	start := time.Now()
	for i := range n {
		if err := op.run(i); err != nil {
			t.Fatal(err)
		}
	}
	return time.Since(start)
}

// TestAllocations holds the allocation counts that the package promises.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	w, session := newWorkload(t), SessionKeys(time.Hour, 100)
	for _, c := range []struct {
		limit float64
		op    operation
	}{
		{23, w.request(t, "strict, request", Config{}, PadNone())},
		{16, w.parts(t, "strict, parts", Config{}, PadNone())},
		{9, w.request(t, "session, request", Config{Reuse: session}, PadNone())},
		{4, w.parts(t, "session, parts", Config{Reuse: session}, PadNone())},
		{23, w.sent(t, "session, sent", Config{Reuse: session})},
		{4, w.parts(t, "session, parts, padded", Config{Reuse: session}, PadToBlock(3994))},
	} {
		limit, op := c.limit, c.op
		t.Run(op.name, func(t *testing.T) {
			i := 0
			got := testing.AllocsPerRun(200, func() {
				if err := op.run(i); err != nil {
					t.Fatal(err)
				}
				i++
			})
			if got > limit {
				t.Errorf("%v allocations, at most %v", got, limit)
			}
		})
	}
}
