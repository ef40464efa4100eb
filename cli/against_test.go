package cli

import (
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// Both sides are built as this program was: with its tags, its flags for compiler and linker, and its
// profile, or each with the one that it has beside its main package.
func TestBuildFlags(t *testing.T) {
	folder, err := exec.Command("go", "list", "-f", "{{.Dir}}", "postage/cmd/postage").Output()
	if err != nil {
		t.Fatal(err)
	}
	for pgo, want := range map[string]string{
		"": "-pgo=off",
		filepath.Join(strings.TrimSpace(string(folder)), "default.pgo"): "-pgo=auto",
		"default.pgo":            "-pgo=auto", // with -trimpath
		"/elsewhere/default.pgo": "-pgo=/elsewhere/default.pgo",
		"/elsewhere/cpu.pgo":     "-pgo=/elsewhere/cpu.pgo",
	} {
		info := &debug.BuildInfo{Path: "postage/cmd/postage", Settings: []debug.BuildSetting{
			{Key: "-tags", Value: "a,b"}, {Key: "-ldflags", Value: "-X main.v=1 -s"}, {Key: "-gcflags", Value: "-B"}, {Key: "GOOS", Value: "linux"}, {Key: "vcs.revision", Value: "7"},
		}}
		if pgo != "" {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: "-pgo", Value: pgo})
		}
		if got, want := strings.Join(buildFlags(t.Context(), info), "|"), "-tags=a,b|-ldflags=-X main.v=1 -s|-gcflags=-B|"+want; got != want {
			t.Errorf("profile %q: %s, want %s", pgo, got, want)
		}
	}
}
