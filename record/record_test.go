package record_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/perf/benchfmt"

	"postage/record"
)

// sample is a record of one case with three contenders, one of which failed, and as many
// blocks as asked for.
func sample(blocks int) *record.Record {
	rec := &record.Record{
		Run: record.Run{Version: record.Version, Started: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC), Seed: 7, Precision: 0.01,
			Budget: time.Minute, Rounds: 3, GOMAXPROCS: 2, Commit: "abc", Elapsed: time.Minute, Complete: true,
			Warnings: []string{"a warning"}},
		Machine: record.Machine{GOOS: "linux", GOARCH: "amd64", CPU: "Test CPU", Cores: 2, MemoryBytes: 24 << 30, Go: "go1.26.0"},
	}
	const c = "Encode/msg=benchmark/op=decode"
	for _, r := range []record.Row{
		{Contender: "codec=protobuf", Role: "baseline", N: 100, Proof: record.ProofOK, Metrics: map[string]float64{"encoded-bytes": 377}},
		{Contender: "codec=polyglot", Role: "contender", N: 200, Proof: record.ProofOK, Module: "example.org/polyglot v1.2.3", Settings: map[string]string{"codec": "polyglot"}},
		{Contender: "codec=broken", Role: "contender", Proof: record.ProofFailed + "decoded 7, want 8"},
	} {
		r.Stage, r.Case, r.Name, r.Checks = "encode", c, c+"/"+r.Contender, "round trip"
		rec.Rows = append(rec.Rows, r)
	}
	for i := range blocks {
		rec.Blocks = append(rec.Blocks, record.Block{Case: c, Number: i + 1, Elapsed: time.Second, Series: []record.Series{
			{Row: c + "/codec=protobuf", Position: []int{0, 1, 0}, WallNS: []int64{1000, 1100, int64(1050 + i)}, CPUNS: []int64{900, 900, 900},
				Allocs: []int64{1700, 1701, 1700}, Bytes: []int64{58400, 58400, 58432}},
			{Row: c + "/codec=polyglot", Position: []int{1, 0, 1}, WallNS: []int64{600, 610, int64(620 + i)},
				Allocs: []int64{0, 3, 0}, Bytes: []int64{0, 96, 0}, Counters: map[string][]float64{"wire-out-B/op": {200, 200, 400}}},
		}})
	}
	return rec
}

func text(t *testing.T, rec *record.Record) string {
	t.Helper()
	var b bytes.Buffer
	n, err := rec.WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("WriteTo: %d of %d bytes, %v", n, b.Len(), err)
	}
	return b.String()
}

func TestRoundTrip(t *testing.T) {
	for _, blocks := range []int{0, 1, 6} {
		rec := sample(blocks)
		got, err := record.Parse(strings.NewReader(text(t, rec)), "r.txt")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(rec, got); diff != "" {
			t.Errorf("%d blocks: written and read again (-want +got):\n%s", blocks, diff)
		}
	}
}

// The Go project's own reader must find in a record a result for each series, nothing
// that it calls an error, and one configuration throughout.
func TestBenchfmtReadsIt(t *testing.T) {
	reader := benchfmt.NewReader(strings.NewReader(text(t, sample(6))), "r.txt")
	results := 0
	for reader.Scan() {
		switch r := reader.Result().(type) {
		case *benchfmt.Result:
			results++
			if r.GetConfig("cpu") != "Test CPU" || len(r.Config) != 3 {
				t.Errorf("configuration %v", r.Config)
			}
			base, parts := r.Name.Parts()
			if string(base) != "Encode" || string(parts[len(parts)-1]) != "-2" {
				t.Errorf("name %s", r.Name)
			}
			if r.Name.String() == "Encode/msg=benchmark/op=decode/codec=polyglot-2" {
				if v, ok := r.Value("sec/op"); !ok || v != 3.05e-9 {
					t.Errorf("polyglot: %v sec/op, want 3.05e-9, the median of 600, 610 and 620 ns for 200 operations", v)
				}
				if v, _ := r.Value("allocs/op"); v != 0 {
					t.Errorf("polyglot: %v allocs/op", v)
				}
				if v, _ := r.Value("wire-out-B/op"); v != 1 {
					t.Errorf("polyglot: %v wire-out-B/op", v)
				}
			}
		case *benchfmt.SyntaxError:
			t.Error(r)
		}
	}
	if err := reader.Err(); err != nil {
		t.Error(err)
	}
	if results != 12 {
		t.Errorf("%d results of 6 blocks of 2 rows", results)
	}
}

// A damaged record is refused with the file's name and what is wrong.
func TestDamage(t *testing.T) {
	whole := text(t, sample(2))
	lines := strings.SplitAfter(whole, "\n")
	lineOf := func(prefix string) int {
		i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, prefix) })
		if i < 0 {
			t.Fatalf("no line begins with %s", prefix)
		}
		return i
	}
	edit := func(prefix, old, new string) string {
		changed := slices.Clone(lines)
		i := lineOf(prefix)
		if !strings.Contains(changed[i], old) {
			t.Fatalf("line %q has no %q", changed[i], old)
		}
		changed[i] = strings.Replace(changed[i], old, new, 1)
		return strings.Join(changed, "")
	}
	without := func(prefix string) string {
		i := lineOf(prefix)
		return strings.Join(lines[:i], "") + strings.Join(lines[i+1:], "")
	}
	for _, r := range []struct{ what, text, want string }{
		{"nothing", "", "not a Postage record"},
		{"something else", "goos: linux\nBenchmarkX 1 1 ns/op\n", "not a Postage record"},
		{"cut in a line", whole[:len(whole)*2/3], "it was cut short"},
		{"cut in the last line", whole[:len(whole)-5], "it was cut short"},
		{"cut after a line", strings.Join(lines[:len(lines)-2], ""), "it was cut short"},
		{"a time changed", edit("BenchmarkEncode/msg=benchmark/op=decode/codec=polyglot", "3.05", "2.05"), "a line was changed"},
		{"a batch changed", edit("#batches", "[1000,", "[100,"), "a line was changed"},
		{"a result lost", without("Benchmark"), "lines were lost or added"},
		{"a line lost", without("# Lines"), "lines were lost or added"},
		{"twice", whole + whole, "lines were lost or added"},
		{"more behind it", whole + "\n", "it was cut short"},
		// With a checksum that is right.
		{"a batch lost", ended(edit("#batches", "[1000,", "[")), "equally many batches in each list"},
		{"a time of nothing", ended(edit("#batches", "[1000,", "[0,")), "a batch's time is 0 ns"},
		{"a row renamed", ended(edit("#row", "codec=protobuf", "codec=protobug")), "is not made of case"},
		{"a row lost", ended(without("#row")), "is not a row of the block"},
		{"a block lost", ended(strings.Replace(whole, "#block", "# block", 2)), "is not a row of the block"},
		{"an unknown line", ended(edit("#row", "#row", "#engine")), "#engine line: unknown"},
		{"no machine", ended(without("#machine")), "no #machine line"},
		{"a machine without a name", ended(edit("#machine", `"linux"`, `""`)), "no #machine line"},
		{"another version", ended(edit("#run", `"version":1`, `"version":9`)), "version 9 was made by another Postage"},
		{"no JSON", ended(edit("#row", "{", "[")), "#row line: "},
	} {
		if _, err := record.Parse(strings.NewReader(r.text), "r.txt"); err == nil || !strings.HasPrefix(err.Error(), "r.txt:") || !strings.Contains(err.Error(), r.want) {
			t.Errorf("%s: %v", r.what, err)
		}
	}
}

// ended gives a record's text an #end line that is right.
func ended(text string) string {
	text, _, _ = strings.Cut(text, "#end")
	return text + fmt.Sprintf("#end {\"lines\":%d,\"crc32\":%d}\n", strings.Count(text, "\n")+1, crc32.ChecksumIEEE([]byte(text)))
}

func FuzzParse(f *testing.F) {
	var b bytes.Buffer
	if _, err := sample(1).WriteTo(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.String())
	f.Add("#run {\"version\":1}\n")
	for i := 0; i < b.Len(); i += 97 {
		f.Add(b.String()[:i])
	}
	f.Fuzz(func(t *testing.T, s string) {
		// With a correct #end line: otherwise no changed input would get past it.
		rec, err := record.Parse(strings.NewReader(ended(s)), "fuzz")
		if err != nil {
			return
		}
		// What was read can be written, and read again as the same.
		again, err := record.Parse(strings.NewReader(text(t, rec)), "again")
		if err != nil {
			t.Fatalf("what was accepted cannot be read again: %v", err)
		}
		a, _ := json.Marshal(rec)
		b, _ := json.Marshal(again)
		if !bytes.Equal(a, b) {
			t.Fatalf("changed on the way:\n%s\n%s", a, b)
		}
	})
}

func TestSaveReplacesWhole(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.txt")
	for blocks := range 3 {
		if err := sample(blocks).Save(name); err != nil {
			t.Fatal(err)
		}
		rec, err := record.Load(name)
		if err != nil || len(rec.Blocks) != blocks {
			t.Fatalf("loaded %v, %v", rec, err)
		}
	}
	files, _ := os.ReadDir(filepath.Dir(name))
	if len(files) != 1 {
		t.Errorf("temporary files are left: %v", files)
	}
}

// Where a file system is full, the old file stays.
func TestFullDisk(t *testing.T) {
	folder := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder).CombinedOutput(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("mount tmpfs: %v: %s", err, out)
		}
		t.Skipf("a small file system cannot be mounted here: %v: %s", err, out)
	}
	defer func() {
		if out, err := exec.Command("umount", folder).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	}()
	name := filepath.Join(folder, "r.txt")
	if err := sample(1).Save(name); err != nil {
		t.Fatal(err)
	}
	huge := sample(4000)
	if err := huge.Save(name); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("Save: %v", err)
	}
	rec, err := record.Load(name)
	if err != nil || len(rec.Blocks) != 1 {
		t.Errorf("what was saved before is gone: %v", err)
	}
	if files, _ := os.ReadDir(folder); len(files) != 1 {
		t.Errorf("temporary files are left: %v", files)
	}
}

func TestIdentity(t *testing.T) {
	a := sample(0).Machine
	b := a
	a.Virtualised = "KVM" // as an older record names it
	b.Kernel, b.Go, b.MemoryBytes, b.Virtualised = "other", "go9", b.MemoryBytes-1<<20, "yes"
	if a.Identity() != b.Identity() {
		t.Errorf("a new kernel made another machine: %s, %s", a.Identity(), b.Identity())
	}
	for what, change := range map[string]func(*record.Machine){
		"cpu": func(m *record.Machine) { m.CPU = "x" }, "cores": func(m *record.Machine) { m.Cores++ }, "memory": func(m *record.Machine) { m.MemoryBytes *= 2 },
		"virtualised": func(m *record.Machine) { m.Virtualised = "none" },
	} {
		b := a
		change(&b)
		if a.Identity() == b.Identity() {
			t.Errorf("another %s is the same machine", what)
		}
	}
}

// benchstat reads a record as it stands, in one table, and groups it.
func TestBenchstatReadsIt(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.txt")
	if err := sample(6).Save(name); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{name}, {name, name}, {"-col", "/codec", name}} {
		out, err := exec.Command("go", append([]string{"run", "golang.org/x/perf/cmd/benchstat"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("benchstat %v: %v\n%s", args, err, out)
		}
		if n := bytes.Count(out, []byte("goos: linux")); n != 1 || !bytes.Contains(out, []byte("sec/op")) {
			t.Errorf("benchstat %v: %d configurations in\n%s", args, n, out)
		}
		if args[0] == "-col" && !(bytes.Contains(out, []byte("protobuf")) && bytes.Contains(out, []byte("-71."))) {
			t.Errorf("polyglot stands not as 71%% faster than protobuf in\n%s", out)
		}
	}
}

// A record of an earlier instrument, which kept more of each block, is read; what is written again
// has its batches.
func TestReadsRecordsOfBefore(t *testing.T) {
	rec, err := record.Load("testdata/version1.txt")
	if err != nil {
		t.Fatal(err)
	}
	again, err := record.Parse(strings.NewReader(text(t, rec)), "again")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rec, again); diff != "" {
		t.Errorf("written again it differs:\n%s", diff)
	}
	if len(rec.Blocks) != 5 || rec.Rows[0].Role != record.RoleBaseline || !rec.Rows[0].OK() || rec.Rows[0].Instrument >= record.Instrument {
		t.Errorf("%d blocks, first row %+v", len(rec.Blocks), rec.Rows[0])
	}
}
