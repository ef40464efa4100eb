package bench

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Names are written once, and once more for each level of what calls itself; what a call cost is not
// the caller's own; the monitor's thread is left out, with what it calls.
func TestReadParts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out.1")
	const text = `# callgrind format
version: 1
positions: line
events: Ir
summary: 1
ob=(1) /x.test
fl=(1) ???
fn=(1) x.Hot
39 100
+1 20
cfn=(2) runtime.memmove
calls=3 0
* 900
-1 5
fn=(2)
0 900
fn=(3) runtime.sysmon
0 70
cfn=(4) runtime.usleep
calls=1 0
0 30
fn=(4)
0 31
fn=(5) x.Hot'2
0 7

totals: 1156
`
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	got, err := readParts(file)
	if want := map[string]float64{"x.Hot": 132, "runtime.memmove": 900, "runtime.usleep": 31, "runtime.sysmon": -30}; err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v: want %v", got, err, want)
	}
}

// Where others have the processors, an operation takes far longer than it works.
func TestSizesOnBusyMachine(t *testing.T) {
	idle := sizesOf([]*half{{benchmark: Benchmark{Took: time.Microsecond, CPU: time.Microsecond}}})
	busy := sizesOf([]*half{{benchmark: Benchmark{Took: time.Millisecond, CPU: time.Microsecond}}})
	waits := sizesOf([]*half{{benchmark: Benchmark{Took: 100 * time.Millisecond, CPU: time.Microsecond}}})
	if idle.many-idle.few != 6000 || busy.many-busy.few != 1000 || waits.many-waits.few != 10 {
		t.Errorf("idle %+v, busy %+v, one that waits %+v", idle, busy, waits)
	}
}
