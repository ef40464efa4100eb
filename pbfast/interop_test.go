package pbfast_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

const agreement = "Agrees|Corners|Varint|TestOpaque$|Hook"

// Messages with the opaque API pass the same tests.
func TestOpaqueMessages(t *testing.T) {
	cmd := exec.Command("go", "test", "-vet=off", opaqueOverlay(t), "-run", "Agrees|Corners|TestOpaque$|Reflection|Unmapped", ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// The differential tests hold while the collector runs all the time, and while it checks its own
// marks: nothing that a message points to is hidden from it.
func TestUnderTheCollector(t *testing.T) {
	tests := "Corners|Varint|Hook"
	if os.Getenv("POSTAGE_LONG") != "" {
		tests = agreement
	}
	for _, setting := range []string{"GOGC=1", "GODEBUG=gccheckmark=1"} {
		t.Run(setting, func(t *testing.T) {
			program, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(program, "-test.run", tests)
			cmd.Env = append(os.Environ(), setting, "POSTAGE_LONG=")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// The same on a 32-bit machine, on ARM, on a big-endian one, with the newest protobuf-go, and with the
// oldest that go.mod allows and the oldest Go.
func TestElsewhere(t *testing.T) {
	if os.Getenv("POSTAGE_LONG") == "" {
		t.Skip("builds for other machines and asks for the newest protobuf-go: POSTAGE_LONG=1")
	}
	overlay := opaqueOverlay(t)
	goCommand := func(t *testing.T, env []string, args ...string) {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0", "POSTAGE_LONG="), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v go %v: %v\n%s", env, args, err, out)
		}
	}
	t.Run("386", func(t *testing.T) {
		goCommand(t, []string{"GOARCH=386"}, "test", "-vet=off", overlay, "-run", agreement, ".")
	})
	for arch, emulator := range map[string]string{"arm64": "qemu-aarch64", "s390x": "qemu-s390x"} {
		t.Run(arch, func(t *testing.T) {
			if _, err := exec.LookPath(emulator); err != nil {
				t.Skip("needs Debian's qemu-user: ", err)
			}
			goCommand(t, []string{"GOARCH=" + arch}, "test", "-vet=off", overlay, "-exec", emulator, "-timeout", "20m", "-run", agreement, ".")
		})
	}
	t.Run("oldest protobuf-go and Go", func(t *testing.T) {
		mod, err := os.ReadFile("go.mod")
		if err != nil {
			t.Fatal(err)
		}
		oldest := regexp.MustCompile(`(?m)^go (\S+)`).FindSubmatch(mod)
		goCommand(t, []string{"GOWORK=off", "GOTOOLCHAIN=go" + string(oldest[1]), "POSTAGE_OLDEST=1"}, "test", "-vet=off", overlay, ".", "./validutf8")
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
		goCommand(t, alone, "test", "-vet=off", overlay, modfile, "-run", agreement, ".")
	})
}
