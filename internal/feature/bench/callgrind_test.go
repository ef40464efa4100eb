package bench

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"postage/internal/verdict"
)

// Names are written once, and once more for each level of what calls itself; what a call cost is not the caller's own; the monitor's thread is left
// out, with what it calls.
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
	idle := sizesOf([]*half{{of: Benchmark{Took: time.Microsecond, CPU: time.Microsecond}}})
	busy := sizesOf([]*half{{of: Benchmark{Took: time.Millisecond, CPU: time.Microsecond}}})
	waits := sizesOf([]*half{{of: Benchmark{Took: 100 * time.Millisecond, CPU: time.Microsecond}}})
	if idle.many-idle.few != 6000 || busy.many-busy.few != 1000 || waits.many-waits.few != 10 {
		t.Errorf("idle %+v, busy %+v, one that waits %+v", idle, busy, waits)
	}
}

// What was counted before a run is resumed passes or fails by the limits of now.
func TestCountResumed(t *testing.T) {
	if _, err := Valgrind(); err != nil {
		t.Skip(err)
	}
	of := func(n float64) *Executed {
		return &Executed{Instructions: n, Processes: []float64{n, n, n}}
	}
	slower, hang := Counted{Case: "slower", Old: of(1000), New: of(1010)}, Counted{Case: "hang", Old: of(1000), New: of(1000), Failed: "hang"}
	for _, want := range []verdict.Outcome{verdict.Passed, verdict.Regressed, verdict.Passed} {
		limits := verdict.Thresholds{Instructions: 0.02}
		if want == verdict.Regressed {
			limits = CountThresholds()
		}
		run := CountedRun{Rows: []Counted{slower}}
		if err := new(Set).Count(t.Context(), limits, 0, &run, nil); err != nil {
			t.Fatal(err)
		}
		if slower = run.Rows[0]; slower.Outcome != want || run.Outcome != want || (slower.Why == "") != (want == verdict.Passed) {
			t.Errorf("%+v, in all %s: want %s", slower, run.Outcome, want)
		}
	}
	run := CountedRun{Rows: []Counted{hang}}
	if err := new(Set).Count(t.Context(), CountThresholds(), 0, &run, nil); err != nil || run.Rows[0].Outcome != "" || run.Outcome != verdict.Inconclusive {
		t.Errorf("what failed is %+v, %v", run, err)
	}
}
