package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"

	"postage/stats"
)

// Other people's benchmarks are compared with themselves plus an unrelated function, and with a
// copy that does 2, 5 or 10% of the work twice. The usual recipe does the same comparisons. Runs
// only if POSTAGE_LONG is set, to the number of minutes (1 means 25); nothing else may be running.
// Results are printed as they come, with the seconds that a row took. The modules are downloaded,
// and not kept.
//
// Of the time, 45% goes to 318 rows known to be equal, 20% to the recipe, 20% to 5% more work, and
// the rest to 10 and 2%.
func TestBenchOnForeignCode(t *testing.T) {
	minutes, err := strconv.ParseFloat(os.Getenv("POSTAGE_LONG"), 64)
	if err != nil {
		t.Skip("measures for 25 minutes: set POSTAGE_LONG=1, or the number of minutes, and -timeout 60m")
	}
	if minutes == 1 {
		minutes = 25
	}
	begun, enough := time.Now(), time.Duration(minutes*float64(time.Minute)) // begun anew when all is prepared
	// take is one step's part of the time until a part of it all has passed, where the steps
	// from this one on weigh so much.
	take := func(until, weight, left float64) time.Duration {
		ends := begun.Add(time.Duration(until * float64(enough)))
		return max(10*time.Second, time.Duration(float64(time.Until(ends))*weight/left).Round(time.Second))
	}
	late := func() bool { return time.Since(begun) > enough }
	program := built(t) // in its workspace, which the modules are not in
	t.Setenv("GOWORK", "off")
	folder := t.TempDir()
	do := func(directory string, args ...string) string {
		t.Helper()
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = directory
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	modules := map[string]string{"gjson": "github.com/tidwall/gjson@v1.18.0", "crypto": "golang.org/x/crypto@v0.45.0", "compress": "github.com/klauspost/compress@v1.18.1"}
	for name, module := range modules {
		var found struct{ Dir string }
		if err := json.Unmarshal([]byte(do(folder, "go", "mod", "download", "-json", module)), &found); err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(folder, name)
		if err := os.CopyFS(copied, os.DirFS(found.Dir)); err != nil {
			t.Fatal(err)
		}
		err := filepath.WalkDir(copied, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Chmod(path, 0o755)
		})
		if err != nil {
			t.Fatal(err)
		}
		do(copied, "git", "init", "-q")
		do(copied, "git", "add", ".")
		do(copied, "git", "-c", "user.name=test", "-c", "user.email=test@example.org", "commit", "-q", "-m", "as it is")
	}
	// measure runs postage bench in about the time given. What goes wrong fails the test, and does
	// not end it.
	measure := func(module string, whole time.Duration, seed, pattern string, packages ...string) (is counts) {
		t.Helper()
		if late() {
			t.Logf("%s %s: left out, the time is up", module, pattern)
			return is
		}
		began := time.Now()
		defer func() { is.took = time.Since(began) }()
		// The rest is for building and listing. No more layouts than a row gets blocks.
		budget := (whole * 4 / 5).Round(time.Second)
		args := []string{"bench", "--json", "--budget", budget.String(), "--seed", seed, "-bench", pattern, "--layouts", "8"}
		if module == "json" {
			args = append(args, "--old", "old.test", "--new", "new.test")
		} else {
			args = append(append(args, "--against", "HEAD"), packages...)
		}
		cmd := exec.Command(program, args...)
		cmd.Dir = filepath.Join(folder, module)
		var trouble bytes.Buffer
		cmd.Stderr = &trouble
		out, err := cmd.Output()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) || exit != nil && exit.ExitCode() != exitFailedRow {
			t.Errorf("%v: %v: %s", args, err, trouble.Bytes())
			return is
		}
		var said struct {
			Rows []struct {
				Name, Verdict string
				Ratio         struct{ Value, Low, High *float64 }
			}
		}
		if err := json.Unmarshal(out, &said); err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
			return is
		}
		for _, r := range said.Rows {
			if r.Ratio.Low == nil || r.Ratio.High == nil {
				continue
			}
			is.rows++
			if *r.Ratio.Low > 1 || *r.Ratio.High < 1 {
				is.beside++
			}
			if r.Verdict == "slower" {
				is.slower++
			}
			if r.Verdict == "slower" || r.Verdict == "faster" {
				is.changed++
				t.Logf("%s %s: %.3f (%.3f to %.3f)", r.Name, r.Verdict, *r.Ratio.Value, *r.Ratio.Low, *r.Ratio.High)
			}
		}
		return is
	}

	// recipe is the same by the usual one: the old binary with -count 10, then the new one, in
	// about the time given, and benchstat's test at its own level.
	recipe := func(module string, whole time.Duration, pattern, pkg string) (is counts) {
		t.Helper()
		if late() {
			t.Logf("benchstat's recipe, %s %s: left out, the time is up", module, pattern)
			return is
		}
		began := time.Now()
		defer func() { is.took = time.Since(began) }()
		at := filepath.Join(folder, module)
		old := filepath.Join(folder, module+"-old")
		if _, err := os.Stat(old); err != nil {
			do(at, "git", "worktree", "add", "--detach", old, "HEAD")
		}
		run := func(side, count, each string) (map[string][]float64, error) {
			cmd := exec.Command(filepath.Join(folder, "recipe-"+side+".test"), "-test.run=^$", "-test.bench="+pattern, "-test.count="+count, "-test.benchtime="+each)
			cmd.Dir = filepath.Join(at, pkg)
			out, err := cmd.Output()
			values := map[string][]float64{}
			for reader := benchfmt.NewReader(bytes.NewReader(out), side); reader.Scan(); {
				if r, ok := reader.Result().(*benchfmt.Result); ok {
					if v, ok := r.Value("sec/op"); ok {
						values[string(r.Name)] = append(values[string(r.Name)], v)
					}
				}
			}
			return values, err
		}
		for side, from := range map[string]string{"old": old, "new": at} {
			cmd := exec.Command("go", "test", "-c", "-o", filepath.Join(folder, "recipe-"+side+".test"), ".")
			cmd.Dir = filepath.Join(from, pkg)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("benchstat's recipe, %s %s: %v\n%s", module, pkg, err, out)
				return is
			}
		}
		first, err := run("new", "1", "1x")
		// A benchmark takes some 1.3 times its -benchtime, as b.N is looked for.
		each := max(time.Millisecond, (whole-time.Since(began))/time.Duration(26*max(1, len(first))))
		olds, errOld := run("old", "10", each.String())
		news, errNew := run("new", "10", each.String())
		if err := errors.Join(err, errOld, errNew); err != nil { // those that it measured count
			t.Logf("benchstat's recipe, %s %s: %v", module, pattern, err)
		}
		for name, now := range news {
			if len(olds[name]) == 0 {
				continue
			}
			was := benchmath.NewSample(slices.Clone(olds[name]), &benchmath.DefaultThresholds)
			c := benchmath.AssumeNothing.Compare(was, benchmath.NewSample(slices.Clone(now), &benchmath.DefaultThresholds))
			is.rows++
			if c.P >= c.Alpha {
				continue
			}
			is.changed++
			if stats.Median(now) > stats.Median(olds[name]) {
				is.slower++
			}
		}
		return is
	}
	fmt.Println("| what | rows | a row took |\n|---|---|---|")
	table := func(what string, found int, of counts) {
		fmt.Printf("| %s | %d of %d | %.1f s |\n", what, found, of.rows, of.took.Seconds()/float64(max(1, of.rows)))
	}

	// Known to be equal: a function that nothing calls but its test moves all others.
	const unrelated = "\n\nimport \"testing\"\n\nfunc TestUnrelated(t *testing.T) {\n\tfor i := 0; i < 100; i++ {\n\t\tt.Logf(\"%d %x\", i, i*i)\n\t}\n}\n"
	source := strings.TrimSpace(do(folder, "go", "list", "-f", "{{.Dir}}", "encoding/json"))
	if err := os.CopyFS(filepath.Join(folder, "json"), os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	for _, side := range []string{"old", "new"} {
		do(folder, "go", "test", "-c", "-o", filepath.Join(folder, "json", side+".test"), "encoding/json")
	}
	type step struct {
		module   string
		rows     float64 // about
		pattern  string
		packages []string
	}
	steps := []step{
		{"gjson", 3, ".", []string{"."}},
		{"json", 4, "^Benchmark(Unmapped|Issue10335|UnmarshalMap|EncodeMarshaler)$", nil}, // a process a batch, which is dear,
		{"compress", 93, "Compress|Decompress4XTable", []string{"./huff0"}},
		{"crypto", 59, ".", []string{"./blake2b", "./blake2s", "./chacha20", "./chacha20poly1305", "./hkdf", "./internal/poly1305", "./nacl/secretbox"}},
	}
	for _, of := range steps {
		for _, p := range of.packages {
			at := filepath.Join(folder, of.module, p)
			name := strings.TrimSpace(do(at, "go", "list", "-f", "{{.Name}}"))
			if err := os.WriteFile(filepath.Join(at, "unrelated_test.go"), []byte("package "+name+unrelated), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	begun = time.Now()
	var equal counts
	left := 2. * (3 + 4 + 93 + 59)
	for _, seed := range []string{"1", "2"} {
		for _, of := range steps {
			is := measure(of.module, take(0.45, of.rows, left), seed, of.pattern, of.packages...)
			left -= of.rows
			equal.add(is)
			table("postage bench: equal, "+of.module+", called different", is.changed, is)
		}
	}
	table("postage bench: equal, all, called different", equal.changed, equal)
	table("postage bench: equal, all, without 1 in the 95% interval", equal.beside, equal)
	is := recipe("compress", take(0.53, 93, 100), "Compress|Decompress4XTable", "./huff0")
	is.add(recipe("crypto", take(0.53, 1, 1), ".", "./chacha20"))
	table("benchstat's recipe: equal, called different", is.changed, is)

	// Known to do more.
	edits := []struct{ file, declaration, renamed, end, again string }{
		{"gjson/gjson.go", "func ValidBytes(json []byte) bool {", "func onceMore(json []byte) bool {", "return ", "onceMore(json)"},
		{"crypto/chacha20/chacha_generic.go", "func (s *Cipher) xorKeyStreamBlocksGeneric(dst, src []byte) {", "func (s *Cipher) onceMore(dst, src []byte) {", "", "s.onceMore(dst, src)"},
		{"crypto/nacl/secretbox/secretbox.go", "func Seal(out, message []byte, nonce *[24]byte, key *[32]byte) []byte {", "func onceMore(out, message []byte, nonce *[24]byte, key *[32]byte) []byte {", "return ", "onceMore(out, message, nonce, key)"},
		{"compress/fse/compress.go", "func Compress(in []byte, s *Scratch) ([]byte, error) {", "func onceMore(in []byte, s *Scratch) ([]byte, error) {", "return ", "onceMore(in, s)"},
	}
	originals := map[string]string{}
	for _, e := range edits {
		text, err := os.ReadFile(filepath.Join(folder, e.file))
		if err != nil || strings.Count(string(text), e.declaration) != 1 {
			t.Fatalf("%s: %v: does not have %q exactly once", e.file, err, e.declaration)
		}
		originals[e.file] = string(text)
	}
	slowed := []step{
		{"gjson", 1, "^BenchmarkValidBytes$", []string{"."}},
		{"crypto", 11, "^Benchmark(ChaCha20|Seal)", []string{"./chacha20", "./nacl/secretbox"}},
		{"compress", 8, "^BenchmarkCompress$", []string{"./fse"}},
	}
	var at5 counts
	for _, more := range []struct {
		percent int
		// The part of all the time after which each ends.
		ours, recipes float64
	}{{5, 0.73, 0.79}, {10, 0.865, 0.895}, {2, 0.97, 1}} {
		for _, e := range edits {
			text := strings.Replace(originals[e.file], e.declaration, e.renamed, 1) +
				fmt.Sprintf("\nvar turn int\n\n%s\n\tif turn++; turn%%%d == 0 {\n\t\t%s\n\t}\n\t%s%s\n}\n", e.declaration, 100/more.percent, e.again, e.end, e.again)
			if err := os.WriteFile(filepath.Join(folder, e.file), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		var found, recipes counts
		left, recipeLeft := 1.+11+8, 1.+11+8
		for _, of := range slowed {
			found.add(measure(of.module, take(more.ours, of.rows, left), "1", of.pattern, of.packages...))
			left -= of.rows
		}
		table(fmt.Sprintf("postage bench: %d%% more work, called slower", more.percent), found.slower, found)
		for _, of := range slowed {
			for _, p := range of.packages {
				weight := of.rows / float64(len(of.packages))
				recipes.add(recipe(of.module, take(more.recipes, weight, recipeLeft), of.pattern, p))
				recipeLeft -= weight
			}
		}
		table(fmt.Sprintf("benchstat's recipe: %d%% more work, called slower", more.percent), recipes.slower, recipes)
		if more.percent == 5 {
			at5 = found
		}
	}
	if minutes < 20 {
		t.Skip("a short run shows that it works, and nothing else")
	}
	if equal.rows < 300 || at5.rows < 10 {
		t.Errorf("%d equal rows, %d slowed: too few to say anything", equal.rows, at5.rows)
	}
	if equal.changed > equal.rows/100 {
		t.Errorf("%d of %d equal rows called different: more than 1%%", equal.changed, equal.rows)
	}
	if at5.slower*10 < at5.rows*9 {
		t.Errorf("%d of %d rows slowed by 5%% found: less than 90%%", at5.slower, at5.rows)
	}
}

// counts are rows that have an interval, those of them that are called anything but the same, the
// slower, and those whose interval lies beside 1; and the time that they took.
type counts struct {
	rows, changed, slower, beside int
	took                          time.Duration
}

func (c *counts) add(more counts) {
	c.rows, c.changed, c.slower, c.beside = c.rows+more.rows, c.changed+more.changed, c.slower+more.slower, c.beside+more.beside
	c.took += more.took
}
