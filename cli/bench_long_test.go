package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"

	"postage/internal/stats"
)

// Other people's benchmarks are compared with themselves plus an unrelated function, and with a
// copy that does 2, 5 or 10% of the work twice: by postage bench, by the usual recipe (the old
// binary ten times, then the new one, then benchstat), and by what golang/go#63233 asks for (the
// same, but the two binaries take turns). Each has the same time for a row.
//
// Runs only with POSTAGE_LONG=hours, for 36 minutes; nothing else may be running. Results are
// printed as they come. The modules are downloaded, and not kept.
//
// Of the time, 38% goes to 310 rows known to be equal, and 2 times 4.5% to some of them by the
// recipes. 3 times 11% goes to 5% more work, and the rest to 10 and 2%.
func TestBenchOnForeignCode(t *testing.T) {
	if os.Getenv("POSTAGE_LONG") != "hours" {
		t.Skip("measures for 36 minutes: POSTAGE_LONG=hours, and -timeout 60m")
	}
	f := &foreign{T: t, folder: t.TempDir(), program: built(t), enough: 36 * time.Minute} // built in its workspace, which the modules are not in
	t.Setenv("GOWORK", "off")
	for name, module := range map[string]string{"gjson": "github.com/tidwall/gjson@v1.18.0", "crypto": "golang.org/x/crypto@v0.45.0", "compress": "github.com/klauspost/compress@v1.18.1"} {
		f.download(name, module)
	}
	equal := []step{
		{"gjson", 3, ".", []string{"."}},
		{"compress", 93, "Compress|Decompress4XTable", []string{"./huff0"}},
		{"crypto", 59, ".", []string{"./blake2b", "./blake2s", "./chacha20", "./chacha20poly1305", "./hkdf", "./internal/poly1305", "./nacl/secretbox"}},
	}
	// An operation of each takes less than 15 us, so that a batch repeats some of them evenly.
	slowed := []step{
		{"gjson", 1, "^BenchmarkValidBytes$", []string{"."}},
		{"crypto", 12, "^Benchmark(Seal|Open|Sum|Write)[0-9]", []string{"./nacl/secretbox", "./blake2b"}},
		{"crypto", 6, "^BenchmarkChacha20Poly1305$/^(Open|Seal)-(64|1350|8192)$", []string{"./chacha20poly1305"}},
		{"compress", 4, "^Benchmark(Compress|Decompress)$/^(gettysburg|normcount2)$", []string{"./fse"}},
	}
	// Known to be equal: a function that nothing calls but its test moves all others.
	const unrelated = "\n\nimport \"testing\"\n\nfunc TestUnrelated(t *testing.T) {\n\tfor i := 0; i < 100; i++ {\n\t\tt.Logf(\"%d %x\", i, i*i)\n\t}\n}\n"
	for _, of := range slices.Concat(equal, slowed) {
		for _, p := range of.packages {
			at := filepath.Join(f.folder, of.module, p)
			if err := os.WriteFile(filepath.Join(at, "unrelated_test.go"), []byte("package "+f.do(at, "go", "list", "-f", "{{.Name}}")+unrelated), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}

	fmt.Println("| what | called different | a row took |\n|---|---|---|")
	f.begun = time.Now()
	var all counts
	left := 2 * rowsOf(equal)
	for range 2 {
		for _, of := range equal {
			is := f.ours(of, f.take(0.38, of.rows, left), "--layouts", "6") // it gets few more blocks
			left -= of.rows
			all.add(is)
			f.table("postage bench: equal, "+of.module, is.changed, is)
		}
	}
	f.table("postage bench: equal, all", all.changed, all)
	f.table("postage bench: equal, all, 1 is outside the 95% interval", all.beside, all)
	some := step{"crypto", 40, ".", []string{"./blake2b", "./blake2s", "./chacha20poly1305", "./internal/poly1305", "./nacl/secretbox"}}
	var recipes [2]counts
	for i, name := range recipeNames {
		recipes[i] = f.recipe(i == 1, some, 0.38+0.0455*float64(i+1))
		f.table(name+": equal, crypto", recipes[i].changed, recipes[i])
	}

	// Known to do more.
	f.inject(0)
	for _, of := range slowed {
		at := filepath.Join(f.folder, of.module)
		f.do(at, append(append([]string{"git"}, commitAs...), "-a", "--allow-empty", "-m", "as slow as before")...)
	}
	f.check(slowed)
	few := []step{{"crypto", 8, "^Benchmark(Seal|Open)[0-9]+", []string{"./nacl/secretbox"}}}
	type share struct {
		percent int
		of      []step
		each    float64 // the part of all the time that each way to compare them gets
	}
	found := map[int][3]counts{}
	at := 0.471
	for _, more := range []share{{5, slowed, 0.11}, {10, few, 0.033}, {2, few, 0.033}} {
		f.inject(more.percent)
		var is [3]counts
		left := rowsOf(more.of)
		for _, of := range more.of {
			is[0].add(f.ours(of, f.take(at+more.each, of.rows, left)))
			left -= of.rows
		}
		is[0].rows = int(rowsOf(more.of)) // those without an interval were not found
		at += more.each
		f.table(fmt.Sprintf("postage bench: %d%% more work, slower", more.percent), is[0].slower, is[0])
		for i, name := range recipeNames {
			for _, of := range more.of {
				at += more.each * of.rows / rowsOf(more.of)
				is[1+i].add(f.recipe(i == 1, of, at))
			}
			f.table(fmt.Sprintf("%s: %d%% more work, slower", name, more.percent), is[1+i].slower, is[1+i])
		}
		found[more.percent] = is
	}
	fmt.Println("\n| | called different, nothing changed | 2% more work, found | 5%, found | 10%, found |\n|---|---|---|---|---|")
	for i, name := range append([]string{"postage bench"}, recipeNames...) {
		same := all
		if i > 0 {
			same = recipes[i-1]
		}
		fmt.Printf("| %s | %d of %d |", name, same.changed, same.rows)
		for _, percent := range []int{2, 5, 10} {
			fmt.Printf(" %d of %d |", found[percent][i].slower, found[percent][i].rows)
		}
		fmt.Println()
	}
	fmt.Printf("it took %v\n", time.Since(f.begun).Round(time.Second))
	at5 := found[5][0]
	if all.rows < 300 || at5.rows < 20 {
		t.Errorf("%d equal rows, %d slowed: too few to say anything", all.rows, at5.rows)
	}
	if all.changed > all.rows/100 {
		t.Errorf("%d of %d equal rows called different: more than 1%%", all.changed, all.rows)
	}
	if at5.slower*10 < at5.rows*9 {
		t.Errorf("%d of %d rows slowed by 5%% found: less than 90%%", at5.slower, at5.rows)
	}
}

var (
	recipeNames = []string{"go test -count=10, benchstat", "golang/go#63233: 10 processes in turns, benchstat"}
	commitAs    = []string{"-c", "user.name=test", "-c", "user.email=test@example.org", "commit", "-q"}
)

// step is what one command measures.
type step struct {
	module   string // its folder
	rows     float64
	pattern  string
	packages []string
}

func rowsOf(steps []step) (n float64) {
	for _, of := range steps {
		n += of.rows
	}
	return n
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

// foreign is other people's code, and the time that it may be measured for.
type foreign struct {
	*testing.T
	folder, program string
	begun           time.Time // when all was prepared
	enough          time.Duration
	originals       map[string]string // the sources before the edits
}

// take is one step's part of the time until a part of it all has passed, where the steps from this
// one on weigh so much.
func (f *foreign) take(until, weight, left float64) time.Duration {
	ends := f.begun.Add(time.Duration(until * float64(f.enough)))
	return max(5*time.Second, time.Duration(float64(time.Until(ends))*weight/left).Round(time.Second))
}

func (f *foreign) late(what string) bool {
	late := time.Since(f.begun) > f.enough*5/4
	if late {
		fmt.Printf("left out, the time is up: %s\n", what)
	}
	return late
}

func (f *foreign) table(what string, found int, of counts) {
	fmt.Printf("| %s | %d of %d | %.1f s |\n", what, found, of.rows, of.took.Seconds()/float64(max(1, of.rows)))
}

// do returns what a command prints.
func (f *foreign) do(directory string, args ...string) string {
	f.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = directory
	var trouble bytes.Buffer
	cmd.Stderr = &trouble
	out, err := cmd.Output()
	if err != nil {
		f.Fatalf("%v: %v\n%s%s", args, err, out, trouble.Bytes())
	}
	return strings.TrimSpace(string(out))
}

// download copies a module into a git repository.
func (f *foreign) download(name, module string) {
	var found struct{ Dir string }
	if err := json.Unmarshal([]byte(f.do(f.folder, "go", "mod", "download", "-json", module)), &found); err != nil {
		f.Fatal(err)
	}
	copied := filepath.Join(f.folder, name)
	err := os.CopyFS(copied, os.DirFS(found.Dir))
	if err == nil {
		err = filepath.WalkDir(copied, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Chmod(path, 0o755)
		})
	}
	if err != nil {
		f.Fatal(err)
	}
	f.do(copied, "git", "init", "-q")
	f.do(copied, "git", "add", ".")
	f.do(copied, append(append([]string{"git"}, commitAs...), "-m", "as it is")...)
}

// ours runs postage bench in about the time given. What goes wrong fails the test, and does not end
// it.
func (f *foreign) ours(of step, whole time.Duration, flags ...string) (is counts) {
	f.Helper()
	if f.late("postage bench, " + of.module + " " + of.pattern) {
		return is
	}
	began := time.Now()
	defer func() { is.took = time.Since(began) }()
	// The rest is for building and listing.
	args := append([]string{"bench", "--json", "--budget", (whole * 4 / 5).Round(time.Second).String(), "-bench", of.pattern}, flags...)
	args = append(append(args, "--against", "HEAD"), of.packages...)
	cmd := exec.Command(f.program, args...)
	cmd.Dir = filepath.Join(f.folder, of.module)
	var trouble bytes.Buffer
	cmd.Stderr = &trouble
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || exit != nil && exit.ExitCode() != exitFailedRow {
		f.Errorf("%v: %v: %s", args, err, trouble.Bytes())
		return is
	}
	var said struct {
		Rows []struct {
			Name, Verdict string
			Ratio         struct{ Value, Low, High *float64 }
			P             float64 `json:"p_holm"`
			Blocks        int     `json:"new_blocks"`
		}
	}
	if err := json.Unmarshal(out, &said); err != nil {
		f.Errorf("%v: %v\n%s", args, err, out)
		return is
	}
	for _, r := range said.Rows {
		if r.Ratio.Low == nil || r.Ratio.High == nil {
			continue
		}
		is.rows++
		beside := *r.Ratio.Low > 1 || *r.Ratio.High < 1
		if beside {
			is.beside++
		}
		if r.Verdict == "slower" {
			is.slower++
		}
		if r.Verdict == "slower" || r.Verdict == "faster" {
			is.changed++
		}
		if beside || of.rows < 50 {
			fmt.Printf("  %s %s: %.3f (%.3f to %.3f), p %.2g after Holm, %d blocks\n", r.Name, r.Verdict, *r.Ratio.Value, *r.Ratio.Low, *r.Ratio.High, r.P, r.Blocks)
		}
	}
	return is
}

// binaries builds the test binaries of a package, as it was committed and as it is now.
func (f *foreign) binaries(module, pkg string) (old, now string) {
	f.Helper()
	at := filepath.Join(f.folder, module)
	was := filepath.Join(f.folder, module+"-"+f.do(at, "git", "rev-parse", "HEAD"))
	if _, err := os.Stat(was); err != nil {
		f.do(at, "git", "worktree", "add", "--detach", was, "HEAD")
	}
	old, now = filepath.Join(f.folder, "recipe-old.test"), filepath.Join(f.folder, "recipe-new.test")
	f.do(filepath.Join(was, pkg), "go", "test", "-c", "-o", old, ".")
	f.do(filepath.Join(at, pkg), "go", "test", "-c", "-o", now, ".")
	return old, now
}

// timed runs a test binary's benchmarks, and adds what an operation took to the values.
func (f *foreign) timed(binary, folder, pattern, count, each string, values map[string][]float64) error {
	cmd := exec.Command(binary, "-test.run=^$", "-test.bench="+pattern, "-test.count="+count, "-test.benchtime="+each)
	cmd.Dir = folder
	out, err := cmd.Output()
	for reader := benchfmt.NewReader(bytes.NewReader(out), binary); reader.Scan(); {
		if r, ok := reader.Result().(*benchfmt.Result); ok {
			if v, ok := r.Value("sec/op"); ok {
				values[string(r.Name)] = append(values[string(r.Name)], v)
			}
		}
	}
	return err
}

// recipe is a comparison with ten values a side, in turns or one side after the other, and
// benchstat's test at its own level. It ends about when that part of all the time has passed.
func (f *foreign) recipe(turns bool, of step, until float64) (is counts) {
	f.Helper()
	began := time.Now()
	defer func() { is.took = time.Since(began) }()
	for i, pkg := range of.packages {
		if f.late("a recipe, " + of.module + " " + pkg) {
			return is
		}
		began, whole := time.Now(), f.take(until, 1, float64(len(of.packages)-i))
		old, now := f.binaries(of.module, pkg)
		folder := filepath.Join(f.folder, of.module, pkg)
		olds, news, once := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
		err := f.timed(now, folder, of.pattern, "1", "1x", once)
		// A benchmark takes some 1.3 times its -benchtime, as b.N is looked for.
		each := max(time.Millisecond, (whole-time.Since(began))/time.Duration(26*max(1, len(once)))).String()
		if turns {
			for range 10 {
				err = errors.Join(err, f.timed(old, folder, of.pattern, "1", each, olds), f.timed(now, folder, of.pattern, "1", each, news))
			}
		} else {
			err = errors.Join(err, f.timed(old, folder, of.pattern, "10", each, olds), f.timed(now, folder, of.pattern, "10", each, news))
		}
		if err != nil { // what it measured counts
			f.Logf("a recipe, %s %s: %v", of.module, pkg, err)
		}
		for name, now := range news {
			if len(olds[name]) == 0 {
				continue
			}
			was := benchmath.NewSample(slices.Clone(olds[name]), &benchmath.DefaultThresholds)
			c := benchmath.AssumeNothing.Compare(was, benchmath.NewSample(slices.Clone(now), &benchmath.DefaultThresholds))
			is.rows++
			ratio := stats.Median(now) / stats.Median(olds[name])
			if c.P < c.Alpha {
				is.changed++
				if ratio > 1 {
					is.slower++
				}
			}
			fmt.Printf("  a recipe, %s: %.3f, p %.2g, %d and %d values\n", name, ratio, c.P, len(olds[name]), len(now))
		}
	}
	return is
}

// edits are functions that benchmarks call, and do little else.
var edits = []struct{ file, declaration, name, call string }{
	{"gjson/gjson.go", "func ValidBytes(json []byte) bool {", "ValidBytes", "%s(json)"},
	{"crypto/nacl/secretbox/secretbox.go", "func Seal(out, message []byte, nonce *[24]byte, key *[32]byte) []byte {", "Seal", "%s(out, message, nonce, key)"},
	{"crypto/nacl/secretbox/secretbox.go", "func Open(out, box []byte, nonce *[24]byte, key *[32]byte) ([]byte, bool) {", "Open", "%s(out, box, nonce, key)"},
	{"crypto/blake2b/blake2b.go", "func Sum512(data []byte) [Size]byte {", "Sum512", "%s(data)"},
	{"crypto/blake2b/blake2b.go", "func (d *digest) Write(p []byte) (n int, err error) {", "Write", "d.%s(p)"},
	{"crypto/chacha20poly1305/chacha20poly1305.go", "func (c *chacha20poly1305) Seal(dst, nonce, plaintext, additionalData []byte) []byte {", "Seal", "c.%s(dst, nonce, plaintext, additionalData)"},
	{"crypto/chacha20poly1305/chacha20poly1305.go", "func (c *chacha20poly1305) Open(dst, nonce, ciphertext, additionalData []byte) ([]byte, error) {", "Open", "c.%s(dst, nonce, ciphertext, additionalData)"},
	{"compress/fse/compress.go", "func Compress(in []byte, s *Scratch) ([]byte, error) {", "Compress", "%s(in, s)"},
	{"compress/fse/decompress.go", "func Decompress(b []byte, s *Scratch) ([]byte, error) {", "Decompress", "%s(b, s)"},
}

// inject has each function do that much of its work twice: all of it in one of 100/percent calls.
// With 0 percent it does none twice, by code that differs in one constant only.
func (f *foreign) inject(percent int) {
	f.Helper()
	every := 1 << 30
	if percent > 0 {
		every = 100 / percent
	}
	texts := map[string]string{}
	if f.originals == nil {
		f.originals = map[string]string{}
	}
	for _, e := range edits {
		name := filepath.Join(f.folder, e.file)
		if f.originals[name] == "" {
			text, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.originals[name] = string(text)
		}
		if texts[name] == "" {
			texts[name] = f.originals[name]
		}
		if strings.Count(texts[name], e.declaration) != 1 {
			f.Fatalf("%s does not have %q exactly once", e.file, e.declaration)
		}
		inner := "once" + e.name
		renamed := strings.Replace(e.declaration, e.name+"(", inner+"(", 1)
		call := fmt.Sprintf(e.call, inner)
		texts[name] = strings.Replace(texts[name], e.declaration, renamed, 1) +
			fmt.Sprintf("\nvar turn%[1]s int\n\n%[2]s\n\tif turn%[1]s++; turn%[1]s >= %[3]d {\n\t\tturn%[1]s = 0\n\t\t%[4]s\n\t}\n\treturn %[4]s\n}\n", e.name, e.declaration, every, call)
	}
	for name, text := range texts {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			f.Fatal(err)
		}
	}
}

// check shows that the edits repeat what the benchmarks time: with all of it done twice, it takes
// twice the time. And an operation is short enough that a batch of some milliseconds repeats
// several.
func (f *foreign) check(steps []step) {
	f.Helper()
	f.inject(100)
	for _, of := range steps {
		for _, pkg := range of.packages {
			old, now := f.binaries(of.module, pkg)
			folder := filepath.Join(f.folder, of.module, pkg)
			olds, news := map[string][]float64{}, map[string][]float64{}
			twice := func(name string) float64 { return slices.Min(news[name]) / slices.Min(olds[name]) }
			wrong := func(name string) bool {
				return twice(name) < 1.85 || twice(name) > 2.15 || slices.Min(olds[name]) > 15e-6
			}
			// The least of five, of more where the machine does something else meanwhile.
			for try := 0; try < 5 || try < 30 && slices.ContainsFunc(slices.Collect(maps.Keys(olds)), wrong); try++ {
				if err := errors.Join(f.timed(old, folder, of.pattern, "1", "5ms", olds), f.timed(now, folder, of.pattern, "1", "5ms", news)); err != nil {
					f.Errorf("%s %s: %v", of.module, pkg, err)
				}
			}
			for _, name := range slices.Sorted(maps.Keys(olds)) {
				fmt.Printf("  %s: %.0f ns; all of its work twice: %.2f times that\n", name, slices.Min(olds[name])*1e9, twice(name))
				if wrong(name) {
					f.Errorf("%s %s: it is no row to inject work into", of.module, name)
				}
			}
		}
	}
}
