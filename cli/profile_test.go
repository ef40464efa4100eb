package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	runtimepprof "runtime/pprof"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"postage/internal/feature/profile"
	"postage/internal/sys/machine"
	"postage/internal/test/recordtest"
	"postage/record"
)

// A program that does nothing but decode JSON is profiled, with its allocations and without.
func TestProfile(t *testing.T) {
	t.Chdir(t.TempDir())
	text, err := json.Marshal(make([]struct{ A, B, C string }, 1000))
	if err != nil {
		t.Fatal(err)
	}
	var s profile.Summary
	for length := 2 * time.Second; s.Samples < 20 && length < 16*time.Second; length *= 2 { // a busy machine gives it few
		var cpu, allocs bytes.Buffer
		if err := runtimepprof.StartCPUProfile(&cpu); err != nil {
			t.Fatal(err)
		}
		for begun := time.Now(); time.Since(begun) < length; {
			var v []struct{ A, B, C string }
			if err := json.Unmarshal(text, &v); err != nil {
				t.Fatal(err)
			}
		}
		runtimepprof.StopCPUProfile()
		if err := errors.Join(runtimepprof.Lookup("allocs").WriteTo(&allocs, 0), os.WriteFile("cpu.pprof", cpu.Bytes(), 0o666), os.WriteFile("allocs.pprof", allocs.Bytes(), 0o666)); err != nil {
			t.Fatal(err)
		}
		code, out, said := command("profile", "cpu.pprof", "allocs.pprof", "--json")
		s = profile.Summary{}
		if err := json.Unmarshal([]byte(out), &s); code != exitOK || err != nil {
			t.Fatalf("%d: %v: %s", code, err, said)
		}
	}
	if s.Samples < 20 || len(s.Sites) == 0 || s.Sites[0].String() != "decode JSON" || s.Sites[0].Garbage == nil {
		t.Fatalf("%d samples, sites %+v", s.Samples, s.Sites)
	}
	if site := s.Sites[0]; len(site.Savings) > 0 || site.Check != "postage bring postage/cli --type TYPE --sample FILE" {
		t.Errorf("without a record: %+v", site)
	}
	if code, out, said := command("profile", "cpu.pprof"); code != exitOK || !strings.Contains(out, "decode JSON") || !strings.Contains(out, "shared out: that takes") {
		t.Errorf("%d: %s%s", code, out, said)
	}
}

// What is no profile, or not the right one, is told in words that say what to do.
func TestProfileWrongInput(t *testing.T) {
	t.Chdir(t.TempDir())
	var heap, idle bytes.Buffer
	none := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}}}
	if err := errors.Join(runtimepprof.Lookup("heap").WriteTo(&heap, 0), none.Write(&idle)); err != nil {
		t.Fatal(err)
	}
	good := cpuProfile(t, "main.f")
	for name, text := range map[string][]byte{"empty": {}, "page": []byte("\n<html><p>hello"), "text": []byte("goroutine profile: total 7\n1 @ 0x43"), "heap": heap.Bytes(), "idle": idle.Bytes(), "cut": good[:len(good)-9], "good": good, "bare": cpuProfile(t, "")} {
		if err := os.WriteFile(name, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	other := &record.Record{Run: record.Run{Version: record.Version}, Machine: machine.Read(0)}
	if err := other.Save("other.txt"); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"good --with other.txt": "--with other.txt: it has no rows with intervals that encode",
		"empty":                 "empty: it is empty",
		"page":                  `page: text, not a profile in pprof's format: it begins "<html><p>hello"`,
		"text":                  `it begins "goroutine profile: total 7"`,
		"heap":                  "heap: of allocations alone",
		"cut":                   "cut: it is cut short",
		"idle":                  "no samples of CPU time: profile for longer, or under load",
		"bare":                  "no function names",
		"http://localhost:6060/debug/pprof/profile": "hint: fetch it first: curl -o cpu.pprof 'http://localhost:6060/debug/pprof/profile?seconds=30'",
		"http://localhost:6060/":                    "hint: fetch it first: curl -o cpu.pprof 'http://localhost:6060/debug/pprof/profile?seconds=30'",
		"good --any-format":                         "--any-format is for the changes that --with lists",
	} {
		var out, said bytes.Buffer
		code := postage.run(t.Context(), append([]string{"profile"}, strings.Fields(args)...), strings.NewReader(""), &out, &said)
		if all := out.String() + said.String(); !strings.Contains(strings.Join(strings.Fields(all), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("%s: %d, want %q:\n%s", args, code, want, all)
		}
	}
}

// cpuProfile is a profile of ten seconds at a rate of 100, all in one function.
func cpuProfile(t *testing.T, name string) []byte {
	t.Helper()
	fn := &pprof.Function{ID: 1, Name: name}
	at := &pprof.Location{ID: 1, Line: []pprof.Line{{Function: fn}}}
	cpu := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, DurationNanos: 1e10, Function: []*pprof.Function{fn, {ID: 2, Name: "runtime.main"}}, Location: []*pprof.Location{at}, Sample: []*pprof.Sample{{Value: []int64{1e9}, Location: []*pprof.Location{at}}}}
	var text bytes.Buffer
	if err := cpu.Write(&text); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// Ratios are of the record that is named; a library of the user's own is known by --owners.
func TestProfileRatios(t *testing.T) {
	t.Chdir(t.TempDir())
	made := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 10}
	if err := errors.Join(made.Record().Save("mine.txt"), os.WriteFile("cpu.pprof", cpuProfile(t, "example.com/wire.Marshal"), 0o666),
		os.WriteFile("owners.txt", []byte("example.com/wire encode wire* codec=base\nexample.com/fast encode wire* codec=a\n"), 0o666)); err != nil {
		t.Fatal(err)
	}
	code, out, said := command("profile", "--owners", "owners.txt", "--json", "cpu.pprof", "--with", "mine.txt")
	var s profile.Summary
	if err := json.Unmarshal([]byte(out), &s); code != exitOK || err != nil || len(s.Sites) != 1 || len(s.Sites[0].Savings) == 0 {
		t.Fatalf("%d: %v: %s%s", code, err, out, said)
	}
	if x := s.Sites[0].Savings[0]; x.Cores == nil || x.Contender != "codec=a" || math.Abs(x.Saves.Value-0.7) > 0.05 {
		t.Errorf("%+v", x)
	}
}
