package cli

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Benchmarks that nobody here wrote, beside themselves, with an unrelated function added, and
// beside a copy that does each twentieth piece of work twice. Takes 20 minutes and nothing else may
// be running, so only if POSTAGE_LONG is set. It downloads the modules, and keeps nothing of them.
func TestBenchOnForeignCode(t *testing.T) {
	if os.Getenv("POSTAGE_LONG") == "" {
		t.Skip("measures for 20 minutes: set POSTAGE_LONG=1, and -timeout 60m")
	}
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
	measure := func(module, budget, seed, pattern string, packages ...string) (rows, changed, slower int) {
		t.Helper()
		args := append([]string{"bench", "--against", "HEAD", "--json", "--budget", budget, "--seed", seed, "-bench", pattern}, packages...)
		cmd := exec.Command(built(t), args...)
		cmd.Dir = filepath.Join(folder, module)
		out, err := cmd.Output()
		var exit *exec.ExitError
		if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != exitFailedRow) {
			t.Fatalf("%v: %v", args, err)
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

	// Known to be equal: a function that nothing calls but its test moves all others.
	const unrelated = "\n\nimport \"testing\"\n\nfunc TestUnrelated(t *testing.T) {\n\tfor i := range 100 {\n\t\tt.Logf(\"%d %x\", i, i*i)\n\t}\n}\n"
	rows, alarms := 0, 0
	for _, of := range []struct {
		module, budget, pattern string
		packages                []string
	}{
		{"gjson", "20s", ".", []string{"."}},
		{"crypto", "4m", ".", []string{"./blake2b", "./blake2s", "./chacha20", "./chacha20poly1305", "./hkdf", "./internal/poly1305", "./nacl/secretbox"}},
		{"compress", "4m", "Compress", []string{"./huff0"}},
	} {
		for _, p := range of.packages {
			at := filepath.Join(folder, of.module, p)
			name := strings.TrimSpace(do(at, "go", "list", "-f", "{{.Name}}"))
			if err := os.WriteFile(filepath.Join(at, "unrelated_test.go"), []byte("package "+name+unrelated), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		for _, seed := range []string{"1", "2"} {
			n, changed, _ := measure(of.module, of.budget, seed, of.pattern, of.packages...)
			rows, alarms = rows+n, alarms+changed
		}
	}
	t.Logf("equal: %d of %d rows called different", alarms, rows)

	// Known to do 5%% more.
	inject := func(file, declaration, renamed, wrapper string) {
		t.Helper()
		name := filepath.Join(folder, file)
		text, err := os.ReadFile(name)
		if err != nil || strings.Count(string(text), declaration) != 1 {
			t.Fatalf("%s: %v: has %q not once", file, err, declaration)
		}
		if err := os.WriteFile(name, []byte(strings.Replace(string(text), declaration, renamed, 1)+wrapper), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	const turn = "\nvar turn int\n\n"
	inject("gjson/gjson.go", "func ValidBytes(json []byte) bool {", "func validBytesOnce(json []byte) bool {",
		turn+"func ValidBytes(json []byte) bool {\n\tif turn++; turn%20 == 0 {\n\t\tvalidBytesOnce(json)\n\t}\n\treturn validBytesOnce(json)\n}\n")
	inject("gjson/gjson.go", "func Valid(json string) bool {", "func validOnce(json string) bool {",
		"\nfunc Valid(json string) bool {\n\tif turn++; turn%20 == 0 {\n\t\tvalidOnce(json)\n\t}\n\treturn validOnce(json)\n}\n")
	inject("crypto/chacha20/chacha_generic.go", "func (s *Cipher) xorKeyStreamBlocksGeneric(dst, src []byte) {", "func (s *Cipher) once(dst, src []byte) {",
		turn+"func (s *Cipher) xorKeyStreamBlocksGeneric(dst, src []byte) {\n\tif turn++; turn%20 == 0 {\n\t\ts.once(dst, src)\n\t}\n\ts.once(dst, src)\n}\n")
	slowed, found := 0, 0
	for _, seed := range []string{"1", "2"} {
		n, _, slower := measure("gjson", "20s", seed, "^BenchmarkValid", ".")
		slowed, found = slowed+n, found+slower
		n, _, slower = measure("crypto", "45s", seed, ".", "./chacha20")
		slowed, found = slowed+n, found+slower
	}
	t.Logf("5%% more work: %d of %d rows called slower", found, slowed)
	if rows < 100 || slowed < 10 {
		t.Errorf("%d equal rows, %d slowed: too few to say anything", rows, slowed)
	}
	if alarms > max(1, rows/100) {
		t.Errorf("%d of %d equal rows called different: more than 1%%", alarms, rows)
	}
	if found*10 < slowed*9 {
		t.Errorf("%d of %d slowed rows found: less than 90%%", found, slowed)
	}
}
