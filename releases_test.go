package postage_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// A required module is one that a go.mod of the repository names itself, in a require or a tool
// line, or a go:generate line at a version, as the go command sees it.
type required struct {
	Path, Version string
	Update        *struct {
		Version string
		Time    time.Time
	}
	Error *struct{ Err string }
}

// grace is how long a release may exist before the repository has to use it or say why it does not.
const grace = 30 * 24 * time.Hour

// Every module is at its newest release, or docs/dependencies.md says why it is not. The test
// prints what is held back with the reason, and fails for a module that has none, and for a reason
// that no longer holds.
func TestNewestReleases(t *testing.T) {
	if os.Getenv("POSTAGE_LONG") == "" {
		t.Skip("asks the module proxy: POSTAGE_LONG=1")
	}
	if out, err := exec.Command("go", "list", "-m", "golang.org/x/mod@latest").CombinedOutput(); err != nil {
		t.Skipf("the module proxy does not answer: %s", out)
	}
	reasons := heldBack(t)
	out, err := exec.Command("git", "ls-files", "*go.mod").Output()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]required{}
	for file := range strings.FieldsSeq(string(out)) {
		if strings.Contains(file, "testdata/") {
			continue
		}
		for _, m := range newest(t, filepath.Dir(file)) {
			all[m.Path+" "+m.Version] = m
		}
	}
	for name, m := range all {
		switch why, known := reasons[name]; {
		case m.Error == nil && m.Update == nil:
		case known:
			why.held = true
			t.Logf("%s: %s", name, why.text)
		case m.Error != nil:
			t.Errorf("%s: the module proxy does not know its releases: %s", name, m.Error.Err)
		case time.Since(m.Update.Time) < grace:
			t.Logf("%s: %s is out since %s", name, m.Update.Version, m.Update.Time.Format(time.DateOnly))
		default:
			t.Errorf("%s is required, but %s is out since %s: update it, or give the reason in docs/dependencies.md",
				name, m.Update.Version, m.Update.Time.Format(time.DateOnly))
		}
	}
	for name, why := range reasons {
		if !why.held {
			t.Errorf("docs/dependencies.md says why %s is held back, but it is not", name)
		}
	}
}

// The table of contenders gives the release that is measured, and its day.
func TestReleasesOfContenders(t *testing.T) {
	text, err := os.ReadFile("docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n## Contenders\n")
	table, _, _ = strings.Cut(table, "\n## ")
	rows := regexp.MustCompile(`(?m)^\| (\S+\.[^, ]+)(?:, \S+)? \| (\S+), (\S+) \|`).FindAllStringSubmatch(table, -1)
	if lines := strings.Count(table, "\n| "); len(rows) != lines-1 || lines < 20 {
		t.Fatalf("the test reads %d of %d rows", len(rows), lines-1)
	}
	args := []string{"list", "-e", "-m", "-json"}
	for _, row := range rows {
		args = append(args, row[1])
	}
	decoder := json.NewDecoder(strings.NewReader(string(goIn(t, ".", args...))))
	for _, row := range rows {
		var m struct {
			Version string
			Time    time.Time // zero if the module cache does not know it
		}
		if err := decoder.Decode(&m); err != nil {
			t.Fatal(err)
		}
		if day := m.Time.Format(time.DateOnly); m.Version != row[2] || !m.Time.IsZero() && day != row[3] {
			t.Errorf("docs/dependencies.md has %s at %s of %s, the repository at %s of %s", row[1], row[2], row[3], m.Version, day)
		}
	}
}

type reason struct {
	text string
	held bool
}

// heldBack is the table in docs/dependencies.md, by module and version.
func heldBack(t *testing.T) map[string]*reason {
	text, err := os.ReadFile("docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n## Versions held back\n")
	table, _, _ = strings.Cut(table, "\n## ")
	reasons := map[string]*reason{}
	for _, m := range regexp.MustCompile(`(?m)^\| (\S+\.\S+) \| (v\S+) \| (.+) \|$`).FindAllStringSubmatch(table, -1) {
		reasons[m[1]+" "+m[2]] = &reason{text: m[3]}
	}
	if len(reasons) == 0 {
		t.Fatal("docs/dependencies.md holds no module back: the test does not find the table")
	}
	return reasons
}

// newest asks the module proxy about what the go.mod in a folder requires.
func newest(t *testing.T, dir string) []required {
	t.Helper()
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
		Tool []struct{ Path string }
	}
	if err := json.Unmarshal(goIn(t, dir, "mod", "edit", "-json"), &mod); err != nil {
		t.Fatal(err)
	}
	ours := strings.TrimSpace(string(goIn(t, ".", "list", "-m"))) + "/"
	var modules []string
	for _, r := range mod.Require {
		tool := slices.ContainsFunc(mod.Tool, func(tool struct{ Path string }) bool {
			return strings.HasPrefix(tool.Path+"/", r.Path+"/")
		})
		if (!r.Indirect || tool) && !strings.HasPrefix(r.Path, ours) {
			modules = append(modules, r.Path)
		}
	}
	return releases(t, dir, modules)
}

// releases asks the module proxy about modules, up to three times about those that it has no answer
// for.
func releases(t *testing.T, dir string, modules []string) (all []required) {
	t.Helper()
	for tries := 1; len(modules) > 0; tries++ {
		args := append([]string{"list", "-e", "-m", "-u", "-json"}, modules...)
		decoder := json.NewDecoder(strings.NewReader(string(goIn(t, dir, args...))))
		var again []string
		for _, module := range modules {
			var m required
			if err := decoder.Decode(&m); err != nil {
				t.Fatal(err)
			}
			if m.Error != nil && tries < 3 {
				again = append(again, module)
			} else {
				all = append(all, m)
			}
		}
		if modules = again; len(modules) > 0 {
			time.Sleep(10 * time.Second)
		}
	}
	return all
}

// goIn runs the go command in a folder, for its own go.mod.
func goIn(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s in %s: %v", strings.Join(args[:2], " "), dir, err)
	}
	return out
}
