package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"postage/internal/feature/build"
	"postage/record"
)

// ground is a folder of files, given as "name: text", which need not be where Go code usually is.
type ground struct {
	*testing.T
	folder string
}

// onGround writes the files. Builds share Go's cache, and nothing else.
func onGround(t *testing.T, files map[string]string) *ground {
	t.Helper()
	cache, err := build.Output(t.Context(), "", "go", "env", "GOCACHE")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", cache)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	g := &ground{t, t.TempDir()}
	g.write(files)
	return g
}

func (g *ground) write(files map[string]string) {
	g.Helper()
	for name, text := range files {
		name = filepath.Join(g.folder, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			g.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			g.Fatal(err)
		}
	}
}

// binary builds the tests of the package there.
func (g *ground) binary() *Binary {
	g.Helper()
	g.Setenv("GOWORK", "off")
	source, err := build.WorkingTree(g.Context(), g.folder)
	if err != nil {
		g.Fatal(err)
	}
	g.Cleanup(func() { source.Close() })
	packages, err := Find(g.Context(), source, []string{"."}, false)
	if err != nil {
		g.Fatal(err)
	}
	binary, err := Build(g.Context(), &build.Side{Source: source}, packages[0], 1)
	if err != nil {
		g.Fatal(err)
	}
	return binary
}

// git runs it in a folder below.
func (g *ground) git(below string, args ...string) {
	g.Helper()
	args = append([]string{
		"-C", filepath.Join(g.folder, below), "-c", "user.name=test",
		"-c", "user.email=test@example.org", "-c", "init.defaultBranch=main",
	}, args...)
	if text, err := exec.Command("git", args...).CombinedOutput(); err != nil {
		g.Fatalf("git %v: %v\n%s", args, err, text)
	}
}

// commit makes a repository of a folder below, or adds a commit to it.
func (g *ground) commit(below string) {
	g.Helper()
	g.git(below, "init", "-q")
	g.git(below, "add", ".")
	g.git(below, "commit", "-q", "-m", "one")
}

// found are the benchmarks of a folder below, or the error.
func (g *ground) found(below string, o Options) (*Set, error) {
	g.Helper()
	o.Folder, o.Layouts, o.Patience = filepath.Join(g.folder, below), 1, time.Minute
	if o.Patterns == nil {
		o.Patterns = []string{"./..."}
	}
	if o.Bench == "" {
		o.Bench = "."
	}
	if o.Say == nil {
		o.Say = g.Logf
	}
	set, err := New(g.Context(), o)
	if err == nil {
		g.Cleanup(func() { set.Close() })
	}
	return set, err
}

// cases are the names of a set's cases, and why each cannot be measured.
func (g *ground) cases(set *Set, err error) (all []string) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
	for _, e := range set.Entries {
		if e.Role == record.RoleBaseline {
			all = append(all, strings.TrimSuffix(strings.TrimPrefix(e.Case.Name, "Bench/pkg=")+" "+e.Contender.NotPossible, " "))
		}
	}
	return all
}

const goMod = "module example.org/m\n\ngo 1.24\n"

// tests is a test file with a benchmark of that body.
func tests(name, body string) string {
	return "package " + name + "\n\nimport \"testing\"\n\nfunc BenchmarkIt(b *testing.B) {\n" + body + "\n}\n"
}

func (g *ground) want(got []string, want ...string) {
	g.Helper()
	if slices.Sort(got); !slices.Equal(got, want) {
		g.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// Packages whose short names are alike have their whole path: two rows of one name would be one
// row, which is measured twice or never.
func TestLabels(t *testing.T) {
	g := onGround(t, map[string]string{
		"go.mod":            "module example.org/json/v5\n\ngo 1.24\n",
		"json_test.go":      tests("json", ""),
		"json/json_test.go": tests("json", ""),
		"a/b/b_test.go":     tests("b", ""),
		"a.b/b_test.go":     tests("b", ""),
		"c/d/d_test.go":     tests("d", ""),
		// Two functions of one name, which package testing runs one after the other.
		"e/e_test.go": tests("e", ""),
		"e/f_test.go": tests("e_test", ""),
	})
	t.Setenv("GOWORK", "off")
	g.want(g.cases(g.found("", Options{})),
		"c.d/It", "e/It two benchmarks have this name", "example.org:json:v5/It", "example.org:json:v5:a.b/It", "example.org:json:v5:a:b/It", "example.org:json:v5:json/It")
	g.write(map[string]string{"go.mod": "module example.org/chi/v5\n\ngo 1.24\n"})
	g.want(g.cases(g.found("", Options{Patterns: []string{"."}})), "chi/It")
}

// What a benchmark prints, what it is called, and how many processors there are, lose no row.
func TestListing(t *testing.T) {
	g := onGround(t, map[string]string{
		"go.mod": goMod,
		"out/out.go": `package out

import "os"

// Out is taken before package testing is there.
var Out = os.Stdout
`,
		"m_test.go": `package m

import (
	"flag"
	"strings"
	"testing"
	"time"

	"example.org/m/out"
)

func BenchmarkNames(b *testing.B) {
	b.Run("utf", func(b *testing.B) {})
	b.Run("utf-8", func(b *testing.B) { b.Skip("not today") })
	b.Run("fails-2", func(b *testing.B) { b.Log("one"); b.Fatal("two") })
	b.Run("size-16", func(b *testing.B) {})
}

func BenchmarkPrints(b *testing.B) {
	for range b.N {
		out.Out.WriteString("hello\n")
		out.Out.WriteString("hello")
	}
}

func BenchmarkVerbose(b *testing.B) {
	if testing.Verbose() {
		b.Fatal("package testing is verbose")
	}
}

func BenchmarkEnds(b *testing.B) {
	b.Run("skips", func(b *testing.B) { b.Skip("not today") })
	b.Run("panics", func(b *testing.B) { panic(slow{}) })
	b.Run("later", func(b *testing.B) { time.Sleep(time.Minute) })
}

// Beside others, package testing goes on and prints a result while the panic is still being said.
type slow struct{}

func (slow) Error() string {
	if !strings.Contains(flag.Lookup("test.bench").Value.String(), "panics") {
		time.Sleep(200 * time.Millisecond)
	}
	return "ouch"
}

func BenchmarkEndsLater(b *testing.B) {
	b.Run("fails", func(b *testing.B) { b.Fatal("two") })
	b.Run("panics", func(b *testing.B) { panic("ouch") })
}
`,
	})
	t.Setenv("GOWORK", "off")
	g.want(g.cases(g.found("", Options{})), "m/Ends/panics its process ended (exit status 2): panic: ouch", "m/Ends/skips it skips: m_test.go:33: not today",
		"m/EndsLater/fails it fails: m_test.go:49: two", "m/EndsLater/panics its process ended (exit status 2): panic: ouch",
		"m/Names it fails", "m/Names/fails-2 it fails: m_test.go:15: two", "m/Names/size-16", "m/Names/utf", "m/Names/utf-8 it skips: m_test.go:14: not today", "m/Prints", "m/Verbose")
}

// A package that only the new side has is new where it is named, too; one that has gone is missed
// in the working tree.
func TestNamedPackage(t *testing.T) {
	g := onGround(t, map[string]string{"go.mod": goMod, "a/a_test.go": tests("a", ""), "gone/g_test.go": tests("g", "")})
	t.Setenv("GOWORK", "off")
	g.commit("")
	g.write(map[string]string{"b/b_test.go": tests("b", "")})
	o := Options{Vary: againstHEAD, All: true, Patterns: []string{"./a", "./b"}}
	set, err := g.found("", o)
	g.want(g.cases(set, err), "a/It")
	g.want(set.Notes, "example.org/m/b BenchmarkIt is new: HEAD does not have it")
	if err := os.RemoveAll(filepath.Join(g.folder, "gone")); err != nil {
		t.Fatal(err)
	}
	o.Patterns = []string{"./a", "./gone"}
	if _, err = g.found("", o); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("a package that is not there: %v", err)
	}
}

// -bench is what go test takes: each alternative has elements of its own, and a slash in brackets
// parts nothing.
func TestSelects(t *testing.T) {
	g := onGround(t, map[string]string{"go.mod": goMod, "m_test.go": `package m

import "testing"

func runs(b *testing.B) {
	b.Run("size=1", func(b *testing.B) {})
	b.Run("size=2", func(b *testing.B) {})
}

func BenchmarkA(b *testing.B) { runs(b) }
func BenchmarkB(b *testing.B) { runs(b) }

func BenchmarkOnly(b *testing.B) {}
`})
	binary := g.binary()
	for pattern, want := range map[string][]string{
		"Only|A/size=2":      {"A/size=2", "Only"},
		"[AB]$/=1|B$/=2":     {"A/size=1", "B/size=1", "B/size=2"},
		"A/=1|A":             {"A/size=1", "A/size=2"},
		"Only(/size)?|[/B]$": {"B/size=1", "B/size=2", "Only"},
		"(A|Only)$/size=1":   {"A/size=1"},
	} {
		found, err := binary.List(t.Context(), pattern, time.Minute)
		var names []string
		for _, one := range found {
			names = append(names, strings.TrimPrefix(one.Name, "Benchmark")+one.Failed)
		}
		if g.want(names, want...); err != nil {
			t.Error(pattern, err)
		}
	}
}

// What TestMain does not run is told; a function that is none, as it is in a comment, is not.
func TestNotRun(t *testing.T) {
	g := onGround(t, map[string]string{
		"go.mod":      goMod,
		"a/m_test.go": tests("m", "") + "\n/*\nfunc BenchmarkNone(b *testing.B) {}\n*/\n",
		"b/m_test.go": strings.Replace(tests("m", ""), `"testing"`, "(\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(*testing.M) { os.Exit(0) }", 1),
	})
	t.Setenv("GOWORK", "off")
	g.want(g.cases(g.found("", Options{})), "a/It", "b/It it was not run: its process ended before")
}

// A set says what the new side has lost: not what was taken out or added, but what does not build,
// fails, or was not reached.
func TestLost(t *testing.T) {
	const file = "package m\n\nimport \"testing\"\n"
	of := func(name, body string) string { return "\nfunc Benchmark" + name + "(b *testing.B) {\n" + body + "}\n" }
	const one, two = "\tb.Run(\"one\", func(b *testing.B) {})\n", "\tb.Run(\"two\", func(b *testing.B) {})\n"
	g := onGround(t, map[string]string{
		"go.mod":           goMod,
		"builds/m_test.go": tests("m", ""),
		"m_test.go": file + of("Fails", "") + of("Failed", "\tb.Fatal()\n") +
			of("Ends", one+two) + of("Gone", ""),
	})
	t.Setenv("GOWORK", "off")
	g.commit("")
	g.write(map[string]string{
		"builds/m_test.go": tests("m", "\tnothing()"),
		"m_test.go":        file + of("Fails", "\tb.Fatal()\n") + of("Failed", "\tb.Fatal()\n") + of("Ends", "\tpanic(0)\n"+one+two) + of("New", "\tb.Fatal()\n"),
	})
	set, err := g.found("", Options{Vary: againstHEAD, OwnTests: true})
	if err != nil {
		t.Fatal(err)
	}
	g.want(set.Lost, "example.org/m BenchmarkEnds/one", "example.org/m BenchmarkEnds/two", "example.org/m BenchmarkFails", "example.org/m/builds")
	for _, want := range []string{"Gone is gone", "New is new", "Ends/two was not run: its process ended"} {
		if !slices.ContainsFunc(set.Notes, func(note string) bool { return strings.Contains(note, want) }) {
			t.Errorf("no note that %s: %q", want, set.Notes)
		}
	}
}

// againstHEAD compares the working tree with what is committed.
var againstHEAD = build.Variation{Values: []string{"HEAD", ""}}

// sides are the cases of a comparison with HEAD, and why either side cannot be measured.
func (g *ground) sides(below string) (all []string) {
	g.Helper()
	set, err := g.found(below, Options{Vary: againstHEAD, All: true})
	if err != nil {
		g.Fatal(err)
	}
	for _, e := range set.Entries {
		if e.Role != record.RoleControl {
			all = append(all, strings.TrimSpace(strings.TrimPrefix(e.Case.Name, "Bench/pkg=")+" "+e.Contender.NotPossible))
		}
	}
	return append(all, set.Notes...)
}

// A workspace above the repository, one in it that git does not know, one that GOWORK names, and
// folders beside it count on both sides, as they are at the time.
func TestAroundTheRepository(t *testing.T) {
	needs := func(name, is string) string {
		return strings.Replace(tests("m", "\tif "+name+".Is != "+is+" {\n\t\tb.Fatal("+name+".Is)\n\t}"), `"testing"`, "(\n\t\"testing\"\n\n\t\"example.org/"+name+"\"\n)", 1)
	}
	lib := func(name, is string) string { return "package " + name + "\n\nconst Is = " + is + "\n" }
	g := onGround(t, map[string]string{
		"ws/go.work":         "go 1.24\n\nuse (\n\t./repo\n\t./lib\n)\n",
		"ws/lib/go.mod":      "module example.org/lib\n\ngo 1.24\n",
		"ws/lib/lib.go":      lib("lib", "2"),
		"ws/far/go.mod":      "module example.org/far\n\ngo 1.24\n",
		"ws/far/far.go":      lib("far", "3"),
		"ws/repo/go.mod":     goMod + "\nrequire (\n\texample.org/lib v0.0.0\n\texample.org/far v0.0.0\n)\n\nreplace (\n\texample.org/lib => ./old\n\texample.org/far => ../far\n)\n",
		"ws/repo/old/go.mod": "module example.org/lib\n\ngo 1.24\n",
		"ws/repo/old/lib.go": lib("lib", "1"),
		"ws/repo/m_test.go":  needs("lib", "2"),
		"ws/repo/f/f.go":     "package f\n\nimport _ \"example.org/far\"\n",
		"ws/repo/f/f_test.go": strings.Replace(needs("far", "3"),
			"package m", "package f", 1),
	})
	t.Setenv("GOWORK", "")
	g.commit("ws/repo")
	both := []string{"f/It", "f/It", "m/It", "m/It"}
	g.want(g.sides("ws/repo"), both...)
	// What lies beside it is not in the cache.
	g.write(map[string]string{"ws/far/far.go": lib("far", "4")})
	g.want(g.sides("ws/repo"), "f/It it fails: f_test.go:11: 4", "f/It it fails: f_test.go:11: 4", "m/It", "m/It")
	g.write(map[string]string{"ws/far/far.go": lib("far", "3")})
	// In the repository, where git ignores it.
	if err := os.Rename(filepath.Join(g.folder, "ws/go.work"), filepath.Join(g.folder, "ws/other.work")); err != nil {
		t.Fatal(err)
	}
	g.write(map[string]string{"ws/repo/go.work": "go 1.24\n\nuse (\n\t.\n\t../lib\n)\n", "ws/repo/.gitignore": "go.work\n"})
	g.want(g.sides("ws/repo"), both...)
	if err := os.Remove(filepath.Join(g.folder, "ws/repo/go.work")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOWORK", filepath.Join(g.folder, "ws/other.work"))
	g.want(g.sides("ws/repo"), both...)
	t.Setenv("GOWORK", "off")
	g.want(g.sides("ws/repo"), "f/It", "f/It", "m/It it fails: m_test.go:11: 1", "m/It it fails: m_test.go:11: 1")
}

// Packages whose tests are the same code on both sides are left out, and no others: whatever a test
// is compiled from counts, and the data beside it.
func TestSameCode(t *testing.T) {
	g := onGround(t, map[string]string{
		"go.mod":               goMod,
		"a/a.go":               "package a\n\nimport _ \"embed\"\n\n//go:embed sub/data\nvar Data string\n",
		"a/sub/data":           "one",
		"a/a_test.go":          tests("a", ""),
		"b/b_test.go":          strings.Replace(tests("b", ""), `"testing"`, "\"testing\"\n\nimport _ \"example.org/m/a\"", 1),
		"c/testdata/deep/file": "one",
		"c/c_test.go":          tests("c", ""),
		"d/d_test.go":          tests("d", ""),
		"e/e.go":               "package e\n\nfunc e()\n",
		"e/e.s":                "// nothing\n",
		"e/e_test.go":          tests("e", ""),
		"README":               "one",
	})
	t.Setenv("GOWORK", "off")
	g.commit("")
	for _, of := range []struct {
		changes map[string]string
		want    string // packages that are measured
	}{
		{map[string]string{"README": "two", "a/README": "new", "a/new_other.txt": "x"}, ""},
		{map[string]string{"a/sub/data": "two"}, "a b"},
		{map[string]string{"c/testdata/deep/file": "two"}, "c"},
		{map[string]string{"testdata/new": "for all"}, "a b c d e"},
		{map[string]string{"d/d.go": "package d\n"}, "d"},
		{map[string]string{"d/d_ext_test.go": "package d_test\n"}, "d"},
		{map[string]string{"e/e.s": "// something\n"}, "e"},
		{map[string]string{"go.mod": "module example.org/m\n\ngo 1.25\n"}, "a b c d e"},
	} {
		g.write(of.changes)
		opened, err := againstHEAD.Open(t.Context(), g.folder)
		if err != nil {
			t.Fatal(err)
		}
		now, err := (&Options{Patterns: []string{"./..."}}).find(t.Context(), opened.Now(), false)
		if err != nil {
			t.Fatal(err)
		}
		changed, err := now.code.Source.Changed(t.Context(), opened.All[0].Source.Commit)
		if err != nil {
			t.Fatal(err)
		}
		said, err := leaveSame(t.Context(), now, &side{code: opened.All[0]}, changed)
		if err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, p := range now.packages {
			left = append(left, p.Label)
		}
		if got := strings.Join(left, " "); got != of.want {
			t.Errorf("%v: %q are measured, want %q; %s", of.changes, got, of.want, said)
		}
		opened.Close()
		g.git("", "checkout", "-q", ".")
		g.git("", "clean", "-q", "-f", "-d")
	}
	set, err := g.found("", Options{Vary: againstHEAD})
	if err != nil || len(set.Entries) > 0 || !strings.HasPrefix(set.Same, "5 of 5 packages are the same code as at HEAD") {
		t.Errorf("%v, %+v", err, set)
	}
}

// What go vet thinks of a test is not asked, and an overlay of the user's is refused.
func TestBuildFlags(t *testing.T) {
	g := onGround(t, map[string]string{
		"go.mod": goMod, "overlay.json": "{}",
		"m_test.go": tests("m", "\tif b.N < 0 {\n\t\tb.Fatalf(\"%d\", \"vet\")\n\t}"),
	})
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "-count=1 -overlay=overlay.json")
	if set, err := g.found("", Options{}); err != nil || len(set.Notes) != 1 || !strings.Contains(set.Notes[0], "go build takes one -overlay") {
		t.Errorf("%v, %+v", err, set)
	}
	t.Setenv("GOFLAGS", "-count=1")
	// Nor is a home needed, where the go command has its caches elsewhere.
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		is, err := build.Output(t.Context(), "", "go", "env", name)
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv(name, is)
	}
	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	g.want(g.cases(g.found("", Options{Patterns: []string{"."}})), "m/It")
}

// What a function sets up each time counts for how long a batch takes, or a budget of seconds would
// take minutes; what it sets up once does not. What the tests print says which is better of a unit.
func TestCalls(t *testing.T) {
	g := onGround(t, map[string]string{"go.mod": goMod, "m_test.go": `package m

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

var once sync.Once

func init() { fmt.Println("Unit hits/op assume=exact better=higher\nUnit cold/op better=lower") }

func BenchmarkSetsUp(b *testing.B) {
	time.Sleep(500 * time.Millisecond)
	b.ResetTimer()
}

func BenchmarkSetsUpOnce(b *testing.B) {
	once.Do(func() { time.Sleep(500 * time.Millisecond) })
	b.ResetTimer()
}
`})
	t.Setenv("GOWORK", "off")
	set, err := g.found("", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range set.Entries {
		if each := strings.HasSuffix(e.Case.Name, "/SetsUp"); (e.Case.Batch > 500*time.Millisecond) != each {
			t.Errorf("a batch of %s takes %v", e.Case.Name, e.Case.Batch)
		}
		if better := e.Contender.Properties; better["better:hits/op"] != "higher" || better["better:cold/op"] != "lower" {
			t.Errorf("better: %v", better)
		}
	}
}

// A gate passes a benchmark that skips on both sides, and a package that is new with its benchmark.
// A benchmark that the new code alone has, and that fails there, says so, and cannot have become slower.
func TestNewOneFails(t *testing.T) {
	g := onGround(t, map[string]string{"go.mod": goMod, "a/a.go": "package a\n"})
	t.Setenv("GOWORK", "off")
	g.commit("")
	g.write(map[string]string{"a/a_test.go": tests("a", "\tb.Fatal(\"no table\")")})
	set, err := g.found("", Options{Vary: againstHEAD, All: true, OwnTests: true})
	g.want(g.cases(set, err))
	g.want(set.Notes, "example.org/m/a BenchmarkIt is new: HEAD does not have it; in the new code it fails: a_test.go:6: no table")
}

func TestNothingToGate(t *testing.T) {
	g := onGround(t, map[string]string{"go.mod": goMod, "a/a_test.go": tests("a", "\tb.Skip(\"no server\")")})
	t.Setenv("GOWORK", "off")
	g.commit("")
	g.write(map[string]string{"b/b_test.go": tests("b", "")})
	set, err := g.found("", Options{Vary: againstHEAD, All: true})
	g.want(g.cases(set, err))
	g.want(set.Notes, "example.org/m/a BenchmarkIt: on both sides it skips: a_test.go:6: no server", "example.org/m/b BenchmarkIt is new: HEAD does not have it")
	if !set.Passes() {
		t.Error("a gate has no answer")
	}
}

// The old code runs the new tests, and its own where the new ones do not build there, or fail.
func TestNewTestsOnOldCode(t *testing.T) {
	has := func(name, is string) string {
		return "package a\n\nimport \"testing\"\n\nfunc Benchmark" + name + "(b *testing.B) {\n\tb.Log(is)\n\tif is != " + is + " {\n\t\tb.Fatal(is)\n\t}\n}\n"
	}
	g := onGround(t, map[string]string{"go.mod": goMod, "a/a.go": "package a\n\nconst is = 1\n", "a/a_test.go": has("Both", "1")})
	t.Setenv("GOWORK", "off")
	g.commit("")
	g.write(map[string]string{"a/a.go": "package a\n\nconst is = 2\n", "a/a_test.go": has("Both", "2"), "a/b_test.go": has("New", "is")})
	builds := 0
	old := func(own bool) (all []string) {
		builds = 0
		set, err := g.found("", Options{Vary: againstHEAD, OwnTests: own, Say: func(string, ...any) { builds++ }})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range set.Entries {
			if e.Old {
				all = append(all, e.Case.Name+" "+e.Contender.NotPossible)
			}
		}
		return append(all, append(set.Warnings, set.Notes...)...)
	}
	const isNew = "example.org/m/a BenchmarkNew is new: HEAD does not have it"
	g.want(old(false), "Bench/pkg=a/Both ", isNew, "example.org/m/a: each side runs its own tests, as the new ones do not run on the old code: BenchmarkBoth: it fails: a_test.go:8: 1")
	// A working tree that is the old side keeps its tests.
	g.git("", "tag", "old")
	g.commit("")
	set, err := g.found("", Options{Vary: build.Variation{Values: []string{"", "old"}}})
	if g.want(g.cases(set, err), "a/Both"); len(set.Warnings) > 0 {
		t.Errorf("a working tree: %q", set.Warnings)
	}
	if _, err := os.Stat(filepath.Join(g.folder, "a/b_test.go")); err != nil {
		t.Error(err)
	}
	g.git("", "reset", "-q", "--mixed", "old")
	g.want(old(true), "Bench/pkg=a/Both ", isNew, "example.org/m/a: each side runs its own tests, which differ")
	g.write(map[string]string{"a/a.go": "package a\n\nconst is = 1\n\nfunc more() {}\n", "a/a_test.go": has("Both", "is")})
	g.want(old(false), "Bench/pkg=a/Both ", "Bench/pkg=a/New ", "example.org/m/a: the old code runs the new tests")
	if builds != 2 {
		t.Errorf("two sides take %d builds, want 2", builds)
	}
	// A test that is no benchmark may need the new code.
	g.write(map[string]string{"a/c_test.go": "package a\n\nimport \"testing\"\n\nfunc TestMore(*testing.T) { more() }\n"})
	g.want(old(false), "Bench/pkg=a/Both ", "Bench/pkg=a/New ", "example.org/m/a: the old code runs the new benchmarks")
	g.write(map[string]string{
		"a/c_test.go": "package a\n", "a/b_test.go": has("New", "two()"),
		"a/a.go": "package a\n\nconst is = 1\n\nfunc two() int { return 1 }\n",
	})
	g.want(old(false), "Bench/pkg=a/Both ", isNew,
		"example.org/m/a: each side runs its own tests, as the new ones do not run on the old code: go test: exit status 1: # example.org/m/a [example.org/m/a.test]\na/b_test.go:7:11: undefined: two")
}
