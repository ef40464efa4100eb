package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"postage/build"
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

// git runs it in a folder below.
func (g *ground) git(below string, args ...string) {
	g.Helper()
	args = append([]string{"-C", filepath.Join(g.folder, below), "-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "init.defaultBranch=main"}, args...)
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
	o.Say = g.Logf
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

// What a benchmark prints, how it is called, and how many processors there are, lose no other's row.
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
	"testing"

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
`,
	})
	t.Setenv("GOWORK", "off")
	want := []string{"m/Names it fails", "m/Names/fails-2 it fails: m_test.go:12: two", "m/Names/size-16", "m/Names/utf", "m/Names/utf-8 it skips: m_test.go:11: not today", "m/Prints", "m/Verbose"}
	g.want(g.cases(g.found("", Options{})), want...)
	// Without the hook a process prints no skips.
	want = slices.Delete(want, 4, 5)
	for i := range want {
		want[i] = "binary" + want[i][1:]
	}
	if text, err := build.Output(t.Context(), g.folder, "go", "test", "-c", "-o", "m.test", "."); err != nil {
		t.Fatal(text, err)
	}
	for _, cpus := range []int{1, 2} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cpus))
		g.want(g.cases(g.found("", Options{New: filepath.Join(g.folder, "m.test")})), want...)
	}
}
