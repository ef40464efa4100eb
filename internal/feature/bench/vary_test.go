package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"postage/internal/feature/build"
	"postage/internal/verdict"
	"postage/record"
)

// A variable is set where the benchmark runs, a flag where it is built, and each side says what it
// is.
func TestVary(t *testing.T) {
	g := onGround(t, map[string]string{
		"go.mod":    goMod,
		"pure.go":   "//go:build purego\n\npackage m\n\nconst is = \"pure\"\n",
		"impure.go": "//go:build !purego\n\npackage m\n\nconst is = \"\"\n",
		"m_test.go": strings.Replace(tests("m", "\tb.Fatal(is + os.Getenv(\"OURS\") + os.Getenv(\"GOAMD64\"))"), `"testing"`, "(\n\t\"os\"\n\t\"testing\"\n)", 1),
	})
	t.Setenv("GOWORK", "off")
	for text, want := range map[string][]string{
		"OURS=a,b":      {"m/It it fails: m_test.go:9: b", "m/It it fails: m_test.go:9: a"},
		"-tags=,purego": {"m/It it fails: m_test.go:9: pure", "m/It it fails: m_test.go:9:"},
	} {
		v, err := build.ParseVariation(text)
		if err != nil {
			t.Fatal(err)
		}
		set, err := g.found("", Options{Vary: v})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range set.Entries {
			if e.Role != record.RoleControl {
				got = append(got, strings.TrimPrefix(e.Case.Name, "Bench/pkg=")+" "+e.Contender.NotPossible)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		if len(set.Told()) != len(v.Values) || !strings.HasPrefix(set.Told()[0], "old is "+v.Name+"="+v.Values[0]+": go1.") {
			t.Errorf("%s: %q", text, set.Told())
		}
	}
}

// A Go release whose package testing the hook does not fit is named by what it lacks.
func TestUnknownTesting(t *testing.T) {
	text, err := build.Output(t.Context(), "", "go", "env", "GOROOT")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(text, "src", "testing", "benchmark.go"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := patched(string(source)); err != nil {
		t.Error(err)
	}
	other := strings.Replace(string(source), "func (b *B) launch(", "func (b *B) start(", 1)
	if _, err := patched(other); err == nil || !strings.Contains(err.Error(), "it has no method launch of B") {
		t.Errorf("%v", err)
	}
}

// counted counts the benchmarks of a folder beside those that are committed.
func (g *ground) counted() map[string]Counted {
	g.Helper()
	if _, err := exec.LookPath("valgrind"); err != nil && os.Getenv("CI") == "" {
		g.Skip("valgrind is not installed")
	}
	set, err := g.found("", Options{Vary: againstHEAD, All: true})
	if err != nil {
		g.Fatal(err)
	}
	var run CountedRun
	if err := set.Count(g.Context(), CountThresholds(), 0, &run, func(string) {}); err != nil {
		g.Fatal(err)
	}
	by := map[string]Counted{}
	for _, c := range run.Rows {
		by[strings.TrimPrefix(c.Case, "Bench/pkg=m/")] = c
		if c.Failed != "" {
			g.Errorf("%s: %s", c.Case, c.Failed)
		}
	}
	return by
}

// One more operation in a hundred is found, and in which function; a function that moved is no
// change; what is set up, and what a timer leaves out, is told apart.
func TestCount(t *testing.T) {
	const source = `package m

var Sum uint64

func hot(n uint64) {
	for i := range n {
		Sum = Sum*31 + i
	}
}

//go:noinline
func Hot() { hot(1000) }

//go:noinline
func Cold() { hot(500) }

var turn int

//go:noinline
func Rare() {
	if turn == 0 {
		hot(1 << 20)
	}
	hot(1000)
	if turn++; turn%(1<<30) == 0 {
		hot(1000)
	}
}
`
	// These three take most of the time: POSTAGE_LONG runs them too, as CI does.
	const slow = `
func BenchmarkRare(b *testing.B) {
	for range b.N {
		Rare()
	}
}
func BenchmarkTimer(b *testing.B) {
	for i := range b.N {
		if i%2000 == 0 {
			b.StopTimer()
			hot(1 << 18)
			b.StartTimer()
		}
		Cold()
	}
}

func BenchmarkOften(b *testing.B) {
	for range b.N {
		b.StopTimer()
		Hot()
		b.StartTimer()
		Cold()
	}
}
`
	tests := `package m

import "testing"

func BenchmarkHot(b *testing.B) {
	hot(1 << 20) // set-up
	for b.Loop() {
		Hot()
	}
}

func BenchmarkCold(b *testing.B) {
	for range b.N {
		Cold()
	}
}
`
	long := os.Getenv("POSTAGE_LONG") != ""
	if long {
		tests += slow
	}
	g := onGround(t, map[string]string{"go.mod": goMod, "m.go": source, "m_test.go": tests})
	t.Setenv("GOWORK", "off")
	g.commit("")
	moved := "package m\n\nfunc Before() uint64 {\n\thot(77)\n\treturn Sum\n}\n" + strings.TrimPrefix(source, "package m\n")
	g.write(map[string]string{"m.go": strings.NewReplacer("{ hot(1000) }", "{ hot(1010) }", "1<<30", "100").Replace(moved)})
	by := g.counted()
	hot, cold := by["Hot"], by["Cold"]
	if hot.Outcome != verdict.Regressed || hot.Ratio() < 1.008 || hot.Ratio() > 1.012 || len(hot.Functions) == 0 || hot.Functions[0].Function != "example.org/m.Hot" {
		t.Errorf("1%% more work: %s, %v times as many instructions, in %v", hot.Outcome, hot.Ratio(), hot.Functions)
	}
	if cold.Outcome != verdict.Passed || cold.Moved() {
		t.Errorf("a function that moved: %s, %v, in %v", cold.Outcome, cold.Ratio(), cold.Functions)
	}
	if hot.Old.Instructions < 3000 || hot.Old.Instructions > 10000 || hot.Old.Allocs != 0 {
		t.Errorf("a thousand turns of a loop execute %v instructions, and allocate %v times", hot.Old.Instructions, hot.Old.Allocs)
	}
	if !long {
		return
	}
	if rare := by["Rare"]; rare.Outcome != verdict.Regressed || rare.Ratio() < 1.005 || rare.Ratio() > 1.015 {
		t.Errorf("every hundredth operation twice, the first of which takes long: %s, %v times as many", rare.Outcome, rare.Ratio())
	}
	timer, often := by["Timer"], by["Often"]
	if timer.Failed != "" || timer.New.Instructions > cold.New.Instructions*1.05 || len(timer.Warnings) > 0 {
		t.Errorf("what its timer leaves out is counted: %v instructions for %v, %q", timer.New, cold.New.Instructions, timer.Warnings)
	}
	if often.New.Instructions < hot.New.Instructions || len(often.Warnings) != 1 {
		t.Errorf("a timer that stops each time: %v instructions, %q", often.New.Instructions, often.Warnings)
	}
}
