package cli

import (
	"bytes"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"postage/lab"
)

// Without a terminal, a run says how it is going when it has said nothing for a quarter of a
// minute, and no more often.
func TestViewWithoutTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		v := newView(&said)
		lines := func() int { return bytes.Count(said.Bytes(), []byte("\n")) }
		s := lab.Status{Case: "Encode/msg=tiny", Block: 3, Round: 1, HalfWidth: math.Inf(1), CasesDone: 1, Cases: 4, Left: 70 * time.Second}
		for second := range 100 {
			time.Sleep(time.Second)
			v.observe(s)
			if want := (second + 1) / 15; lines() != want {
				t.Fatalf("after %d s: %d lines, want %d:\n%s", second+1, lines(), want, &said)
			}
		}
		if want := "1 of 4 cases done, 1m10s left; Encode/msg=tiny: block 3, no interval yet\n"; !bytes.HasPrefix(said.Bytes(), []byte(want)) {
			t.Errorf("it said\n%s, want\n%s", &said, want)
		}
		said.Reset()
		s.Finished = true
		v.observe(s)
		s.Finished = false
		time.Sleep(14 * time.Second)
		if v.observe(s); lines() != 1 {
			t.Errorf("after a case was finished:\n%s", &said)
		}
	})
}
