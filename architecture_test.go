// Package postage_test holds what is true of the repository as a whole.
package postage_test

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// law is the table of docs/architecture.md: the packages from the top down, and what each may
// import.
func law(t *testing.T) (order []string, may map[string][]string) {
	t.Helper()
	text, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	may = map[string][]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]*) \\|$").FindAllStringSubmatch(string(text), -1) {
		order = append(order, m[1])
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(m[2], -1) {
			may[m[1]] = append(may[m[1]], name[1])
		}
	}
	return order, may
}

// place is the table's line that a package belongs to: its own, or the line of "parent/…".
func place(order []string, pkg string) string {
	best := ""
	for _, line := range order {
		parent, all := strings.CutSuffix(line, "/…")
		if line == pkg || all && strings.HasPrefix(pkg, parent+"/") && len(line) > len(best) {
			best = line
			if line == pkg {
				break
			}
		}
	}
	return best
}

// imports are what each package of the workspace imports, without tests, and of this repository only.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	module, err := exec.Command("go", "list").Output()
	if err != nil {
		t.Fatal(err)
	}
	prefix := strings.TrimSpace(string(module)) + "/"
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "work").Output()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := decoder.Decode(&p); err == io.EOF {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		name, ours := strings.CutPrefix(p.ImportPath, prefix)
		if !ours || private(name) {
			continue
		}
		found[name] = nil
		for _, path := range p.Imports {
			if path, ours := strings.CutPrefix(path, prefix); ours && !private(path) {
				found[name] = append(found[name], path)
			}
		}
	}
}

// private packages are below an internal folder of a package's own. The root's is in the table.
func private(pkg string) bool { return strings.Contains(pkg, "/internal/") }

// broken are the ways in which imports break the law.
func broken(order []string, may map[string][]string, imports map[string][]string) []string {
	var faults []string
	used := map[[2]string]bool{}
	for pkg, paths := range imports {
		from := place(order, pkg)
		if from == "" {
			faults = append(faults, pkg+" is not in the table")
			continue
		}
		for _, path := range paths {
			to := place(order, path)
			switch {
			case to == "":
				faults = append(faults, path+" is not in the table")
			case to == from && strings.HasSuffix(from, "/…"):
				// Packages of one line, such as the stages' own parts, settle it among themselves.
			case !slices.Contains(may[from], to):
				faults = append(faults, pkg+" imports "+path+", which "+from+" may not")
			case slices.Index(order, to) < slices.Index(order, from):
				faults = append(faults, pkg+" imports "+path+", which stands above it")
			}
			used[[2]string{from, to}] = true
		}
	}
	for from, names := range may {
		for _, to := range names {
			if !used[[2]string{from, to}] {
				faults = append(faults, from+" may import "+to+", and does not")
			}
		}
	}
	slices.Sort(faults)
	return slices.Compact(faults)
}

// No package imports what the table does not allow it.
func TestImportLaw(t *testing.T) {
	order, may := law(t)
	if len(order) < 10 {
		t.Fatalf("the table was read wrongly: %q", order)
	}
	for _, fault := range broken(order, may, imports(t)) {
		t.Error(fault)
	}
}

// An upward import, an import that is not allowed, a package and an entry that are not there are
// all found.
func TestImportLawFinds(t *testing.T) {
	order, may := law(t)
	for pkg, c := range map[string]struct{ path, want string }{
		"internal/stats":      {"lab", "internal/stats imports lab, which internal/stats may not"},
		"lab":                 {"stage/encode", "lab imports stage/encode, which lab may not"},
		"internal/kit/report": {"cli", "internal/kit/report imports cli, which internal/kit/report may not"},
		"stage/encode":        {"cli", "stage/encode imports cli, which stage/… may not"},
	} {
		found := imports(t)
		found[pkg] = append(found[pkg], c.path)
		if faults := broken(order, may, found); !slices.Contains(faults, c.want) {
			t.Errorf("%s importing %s: %q", pkg, c.path, faults)
		}
	}
	found := imports(t)
	found["newcomer"] = nil
	if faults := broken(order, may, found); !slices.Contains(faults, "newcomer is not in the table") {
		t.Errorf("a package that is not in the table: %q", faults)
	}
	may["internal/stats"] = append(may["internal/stats"], "record")
	if faults := broken(order, may, imports(t)); !slices.Contains(faults, "internal/stats may import record, and does not") {
		t.Errorf("an entry that nobody needs: %q", faults)
	}
	found = imports(t)
	found["internal/stats"] = []string{"record"}
	if faults := broken(order, may, found); !slices.Contains(faults, "internal/stats imports record, which stands above it") {
		t.Errorf("an upward import that the table allows: %q", faults)
	}
}

// Files that the walk names are there.
func TestArchitectureNamesFiles(t *testing.T) {
	text, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`([a-z/]+\\.go)`").FindAllStringSubmatch(string(text), -1)
	if len(names) < 5 {
		t.Errorf("only %d files are named", len(names))
	}
	for _, m := range names {
		if _, err := os.Stat(m[1]); err != nil {
			t.Error(err)
		}
	}
}

// The default build stays without the packages that docs/dependencies.md says it is without.
func TestDefaultBuild(t *testing.T) {
	text, err := os.ReadFile("docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	without := regexp.MustCompile("(?m)^- without `([^`]+)`").FindAllStringSubmatch(string(text), -1)
	if len(without) == 0 {
		t.Fatal("docs/dependencies.md names nothing")
	}
	out, err := exec.Command("go", "list", "-deps", "./cmd/postage").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.FieldsSeq(string(out)) {
		for _, m := range without {
			if path == m[1] || strings.HasPrefix(path, m[1]+"/") {
				t.Errorf("cmd/postage is built with %s: go list -deps -f '{{.ImportPath}} {{.Imports}}' ./cmd/postage says what imports it", path)
			}
		}
	}
}
