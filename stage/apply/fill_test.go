package apply

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"postage/record"
)

// A cache is filled by a list or by a WatchList, as the row says, with what the second client made.
func TestFill(t *testing.T) {
	needServer(t)
	for _, plain := range []bool{false, true} {
		for _, as := range []string{"json", "cbor"} {
			t.Run(fmt.Sprintf("plain=%v/as=%s", plain, as), func(t *testing.T) {
				s := spec{server: testServer(), op: opByName("fill"), kind: kindByName("release"), inflight: 2, plain: plain}
				s.op.objects, s.op.shared = 20, false
				in := instanceOf(t, s, as)
				if err := in.Prove(t.Context()); err != nil {
					t.Error(err)
				}
				in.caller.tap().on.Store(true)
				if err := in.Run(in.MinOps()); err != nil {
					t.Error(err)
				}
				in.plain = !plain
				wantError(t, in.checkWire(nil, in.caller.tap().take()), fmt.Sprintf("the cache was filled by a list: %v", plain))
				if err := in.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// The floor reads all that a cache is filled with, though the server closed its connection.
func TestFloorOfFill(t *testing.T) {
	needServer(t)
	s := spec{server: testServer(), op: opByName("fill"), kind: kindByName("release"), inflight: 1, plain: true}
	s.op.objects, s.op.shared = 20, false
	in, err := newInstance(t.Context(), s, byName("cbor"), openPrebuilt)
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Prove(t.Context()); err != nil {
		t.Error(err)
	}
	in.caller.tap().on.Store(true)
	if err := in.caller.(*prebuilt).raw.conn.Close(); err != nil {
		t.Fatal(err)
	}
	if err := in.Prepare(); err != nil {
		t.Error(err)
	}
	in.caller.tap().take()
	if err := in.Run(1); err != nil {
		t.Error(err)
	}
	in.ready = append(in.ready, "nobody")
	wantError(t, in.checkList(in.caller.tap().take()), "the list lacks nobody")
	in.ready = in.ready[:20]
	if err := in.Close(); err != nil {
		t.Error(err)
	}
}

// The service makes a case's stock, whose rows then measure peaks of memory.
func TestStock(t *testing.T) {
	needServer(t)
	if os.Getenv("POSTAGE_LONG") == "" {
		t.Skip("starts a server: POSTAGE_LONG=1")
	}
	s := spec{server: testServer(), op: opByName("fill"), kind: kindByName("release"), inflight: 1, stock: 300}
	started(t, newService(new(serverFlags), s))
	for _, as := range []string{"json", "cbor"} {
		in := instanceOf(t, s, as)
		if err := in.Prove(t.Context()); err != nil {
			t.Error(err)
		}
		m := in.Metrics()
		if runtime.GOOS == "linux" && (m["server-peak-rss-B"] < 50<<20 || m[record.PeakMemory] < 10<<20) {
			t.Errorf("%v", m)
		}
		in.ready = append(in.ready, "nobody")
		wantError(t, in.Prove(t.Context()), "the cache has 300 objects, want 301")
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
}
