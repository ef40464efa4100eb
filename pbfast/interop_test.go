package pbfast_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const agreement = "Agrees|Corners|Varint|Opaque|Hook"

// The differential tests hold while the collector runs all the time, and while it checks its own
// marks: nothing that a message points to is hidden from it.
func TestUnderTheCollector(t *testing.T) {
	if testing.Short() {
		t.Skip("two more runs of the differential tests")
	}
	for _, setting := range []string{"GOGC=1", "GODEBUG=gccheckmark=1"} {
		t.Run(setting, func(t *testing.T) {
			program, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(program, "-test.short", "-test.run", agreement)
			cmd.Env = append(os.Environ(), setting)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// The same on a 32-bit machine, on a big-endian one, and with the newest protobuf-go. The oldest
// that is supported is the one in go.mod: no program can have an older one.
func TestElsewhere(t *testing.T) {
	if os.Getenv("POSTAGE_INTEROP") == "" {
		t.Skip("builds for other machines and asks for the newest protobuf-go: POSTAGE_INTEROP=1 asks for it")
	}
	goCommand := func(t *testing.T, env []string, args ...string) {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v go %v: %v\n%s", env, args, err, out)
		}
	}
	t.Run("386", func(t *testing.T) {
		goCommand(t, []string{"GOARCH=386"}, "test", "-short", "-run", agreement, ".")
	})
	t.Run("s390x", func(t *testing.T) {
		if _, err := exec.LookPath("qemu-s390x"); err != nil {
			t.Skip("needs Debian's qemu-user: ", err)
		}
		goCommand(t, []string{"GOARCH=s390x"}, "test", "-exec", "qemu-s390x", "-short", "-timeout", "20m", "-run", agreement, ".")
	})
	t.Run("newest protobuf-go", func(t *testing.T) {
		dir := t.TempDir()
		for _, name := range []string{"go.mod", "go.sum"} {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		modfile := "-modfile=" + filepath.Join(dir, "go.mod")
		alone := []string{"GOWORK=off"}
		goCommand(t, alone, "get", modfile, "google.golang.org/protobuf@latest")
		goCommand(t, alone, "test", modfile, "-short", "-run", agreement, ".")
	})
}
