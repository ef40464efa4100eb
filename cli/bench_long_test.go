package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"

	"postage/stats"
)

// Other people's benchmarks are compared with themselves plus an unrelated function, and with a
// copy that does 2, 5 or 10% of the work twice. The usual recipe gets the same time for the same
// comparisons. Runs only if POSTAGE_LONG is set, to the number of minutes (1 means 25); nothing
// else may be running. Results are printed as they come. The modules are downloaded, and not kept.
func TestBenchOnForeignCode(t *testing.T) {
	minutes, err := strconv.ParseFloat(os.Getenv("POSTAGE_LONG"), 64)
	if err != nil {
		t.Skip("measures for 25 minutes: set POSTAGE_LONG=1, or the number of minutes, and -timeout 60m")
	}
	if minutes == 1 {
		minutes = 25
	}
	// A third is for building and listing.
	begun, enough := time.Now(), time.Duration(minutes*float64(time.Minute))
	part := func(share float64) time.Duration {
		return max(10*time.Second, time.Duration(share*2/3*float64(enough)).Round(time.Second))
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
	// measure counts the rows that have an interval, those that are called anything but the same,
	// and the slower.
	measure := func(module string, budget time.Duration, seed, pattern string, packages ...string) (rows, changed, slower int) {
		t.Helper()
		if late() {
			t.Logf("%s %s: left out, the time is up", module, pattern)
			return 0, 0, 0
		}
		args := []string{"bench", "--json", "--budget", budget.String(), "--seed", seed, "-bench", pattern}
		if module == "json" {
			args = append(args, "--old", "old.test", "--new", "new.test")
		} else {
			args = append(append(args, "--against", "HEAD"), packages...)
		}
		cmd := exec.Command(program, args...)
		cmd.Dir = filepath.Join(folder, module)
		out, err := cmd.Output()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatalf("%v: %v", args, err)
		}
		if exit != nil && exit.ExitCode() != exitFailedRow {
			t.Logf("%v: %v: %s", args, err, exit.Stderr)
			return 0, 0, 0
		}
		var said struct {
			Rows []struct {
				Name, Verdict string
				Ratio         struct{ Value, Low, High *float64 }
			}
		}
		if err := json.Unmarshal(out, &said); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		for _, r := range said.Rows {
			if r.Ratio.Low == nil || r.Ratio.High == nil {
				continue
			}
			rows++
			if r.Verdict == "slower" {
				slower++
			}
			if r.Verdict == "slower" || r.Verdict == "faster" {
				changed++
				t.Logf("%s %s: %.3f (%.3f to %.3f)", r.Name, r.Verdict, *r.Ratio.Value, *r.Ratio.Low, *r.Ratio.High)
			}
		}
		return rows, changed, slower
	}

	// recipe is the same by the usual one: the old binary with -count 10, then the new one, in
	// about the time given, and benchstat's test at its own level.
	recipe := func(module string, budget time.Duration, pattern, pkg string) (rows, changed, slower int) {
		t.Helper()
		if late() {
			t.Logf("benchstat's recipe, %s %s: left out, the time is up", module, pattern)
			return 0, 0, 0
		}
		at := filepath.Join(folder, module)
		old := filepath.Join(folder, module+"-old")
		if _, err := os.Stat(old); err != nil {
			do(at, "git", "worktree", "add", "--detach", old, "HEAD")
		}
		do(filepath.Join(old, pkg), "go", "test", "-c", "-o", filepath.Join(folder, "recipe-old.test"), ".")
		do(filepath.Join(at, pkg), "go", "test", "-c", "-o", filepath.Join(folder, "recipe-new.test"), ".")
		run := func(side, count, each string) map[string][]float64 {
			out := do(filepath.Join(at, pkg), filepath.Join(folder, "recipe-"+side+".test"), "-test.run=^$", "-test.bench="+pattern, "-test.count="+count, "-test.benchtime="+each)
			values := map[string][]float64{}
			for reader := benchfmt.NewReader(strings.NewReader(out), side); reader.Scan(); {
				if r, ok := reader.Result().(*benchfmt.Result); ok {
					if v, ok := r.Value("sec/op"); ok {
						values[string(r.Name)] = append(values[string(r.Name)], v)
					}
				}
			}
			return values
		}
		n := len(run("new", "1", "1x"))
		// A benchmark takes some 1.5 times its -benchtime, as b.N is looked for.
		each := budget / time.Duration(30*max(1, n))
		olds, news := run("old", "10", each.String()), run("new", "10", each.String())
		for name, is := range news {
			was := benchmath.NewSample(olds[name], &benchmath.DefaultThresholds)
			c := benchmath.AssumeNothing.Compare(was, benchmath.NewSample(is, &benchmath.DefaultThresholds))
			rows++
			if c.P >= c.Alpha {
				continue
			}
			changed++
			if stats.Median(is) > stats.Median(olds[name]) {
				slower++
			}
		}
		return rows, changed, slower
	}
	table := func(what string, found, of int) {
		fmt.Printf("| %s | %d of %d |\n", what, found, of)
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
	rows, alarms := 0, 0
	for _, of := range []struct {
		module   string
		share    float64
		pattern  string
		packages []string
	}{
		{"gjson", 0.01, ".", []string{"."}},
		{"json", 0.08, "^Benchmark(Unmarshal|Issue|Unmapped|NumberIsValid|EncodeMarshaler|MarshalBytes$)", nil},
		{"compress", 0.16, "Compress", []string{"./huff0"}},
		{"crypto", 0.15, ".", []string{"./blake2b", "./blake2s", "./chacha20", "./chacha20poly1305", "./hkdf", "./internal/poly1305", "./nacl/secretbox"}},
	} {
		for _, p := range of.packages {
			at := filepath.Join(folder, of.module, p)
			name := strings.TrimSpace(do(at, "go", "list", "-f", "{{.Name}}"))
			if err := os.WriteFile(filepath.Join(at, "unrelated_test.go"), []byte("package "+name+unrelated), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		for _, seed := range []string{"1", "2"} {
			n, changed, _ := measure(of.module, part(of.share), seed, of.pattern, of.packages...)
			rows, alarms = rows+n, alarms+changed
			table("postage bench: equal, "+of.module+", called different", changed, n)
		}
	}
	n, changed, _ := recipe("gjson", part(0.02), ".", ".")
	m, more, _ := recipe("crypto", part(0.06), ".", "./chacha20")
	table("benchstat's recipe: equal, called different", changed+more, n+m)

	// Known to do more.
	const valid, once = "func ValidBytes(json []byte) bool {", "func (s *Cipher) xorKeyStreamBlocksGeneric(dst, src []byte) {"
	originals := map[string]string{}
	inject := func(file, declaration, renamed, wrapper string) {
		t.Helper()
		name := filepath.Join(folder, file)
		if originals[file] == "" {
			text, err := os.ReadFile(name)
			if err != nil || strings.Count(string(text), declaration) != 1 {
				t.Fatalf("%s: %v: does not have %q exactly once", file, err, declaration)
			}
			originals[file] = string(text)
		}
		if err := os.WriteFile(name, []byte(strings.Replace(originals[file], declaration, renamed, 1)+wrapper), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	found5, slowed5 := 0, 0
	for _, percent := range []int{5, 10, 2} {
		turn := fmt.Sprintf("if turn++; turn%%%d == 0 {", 100/percent)
		inject("gjson/gjson.go", valid, "func validBytesOnce(json []byte) bool {",
			"\nvar turn int\n\n"+valid+"\n\t"+turn+"\n\t\tvalidBytesOnce(json)\n\t}\n\treturn validBytesOnce(json)\n}\n")
		inject("crypto/chacha20/chacha_generic.go", once, "func (s *Cipher) once(dst, src []byte) {",
			"\nvar turn int\n\n"+once+"\n\t"+turn+"\n\t\ts.once(dst, src)\n\t}\n\ts.once(dst, src)\n}\n")
		slowed, found := 0, 0
		for _, seed := range []string{"1", "2"} {
			n, _, slower := measure("gjson", part(0.01), seed, "^BenchmarkValidBytes$", ".")
			slowed, found = slowed+n, found+slower
			n, _, slower = measure("crypto", part(0.03), seed, ".", "./chacha20")
			slowed, found = slowed+n, found+slower
		}
		table(fmt.Sprintf("postage bench: %d%% more work, called slower", percent), found, slowed)
		n, _, slower := recipe("gjson", part(0.01), "^BenchmarkValidBytes$", ".")
		m, _, more := recipe("crypto", part(0.03), ".", "./chacha20")
		table(fmt.Sprintf("benchstat's recipe: %d%% more work, called slower", percent), slower+more, n+m)
		if percent == 5 {
			found5, slowed5 = found, slowed
		}
	}
	table("postage bench: equal, all, called different", alarms, rows)
	if minutes < 20 {
		t.Skip("a short run shows only that it works")
	}
	if rows < 300 || slowed5 < 10 {
		t.Errorf("%d equal rows, %d slowed: too few for a conclusion", rows, slowed5)
	}
	if alarms > max(1, rows/100) {
		t.Errorf("%d of %d equal rows called different: more than 1%%", alarms, rows)
	}
	if found5*10 < slowed5*9 {
		t.Errorf("%d of %d rows slowed by 5%% found: less than 90%%", found5, slowed5)
	}
}
