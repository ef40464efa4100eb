package bench

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"postage/internal/feature/build"
	"postage/record"
)

//go:embed hook
var hookFiles embed.FS

func hookFile(name string) string {
	text, _ := hookFiles.ReadFile("hook/" + name + ".go.txt") // which is there
	return string(text)
}

// renamed are the methods of testing.B that the hook replaces, and calls by their new names.
var renamed = []string{"launch", "StartTimer", "StopTimer", "ResetTimer", "RunParallel", "run1"}

// patched returns package testing's benchmark.go with the methods renamed.
func patched(source string) (string, error) {
	for _, method := range renamed {
		before, after := "\nfunc (b *B) "+method+"(", "\nfunc (b *B) postage"+strings.ToUpper(method[:1])+method[1:]+"("
		if strings.Count(source, before) != 1 {
			return "", fmt.Errorf("postage bench does not know the package testing of this Go release: it has no method %s of B where one is expected", method)
		}
		source = strings.Replace(source, before, after, 1)
	}
	return strings.Replace(source, "\n\truntime.GC()\n", "\n\tpostageGC()\n", 1), nil
}

// overlay writes the file for go build's -overlay into the user's cache, for the Go release that
// builds a source, and returns its path. The file is the same each time, so that builds
// are cached.
func overlay(ctx context.Context, source *build.Source) (string, error) {
	if err := source.OutsideModules(ctx); err != nil {
		return "", err
	}
	text, err := source.Output(ctx, "go", "env", "GOROOT", "GOOS", "GOFLAGS")
	if err != nil {
		return "", err
	}
	facts := strings.Split(text+"\n", "\n") // there may be no flags, and the end is cut
	if len(facts) < 3 {
		return "", fmt.Errorf("go env said %q", text)
	}
	if build.Flag(facts[2], "overlay") != "" {
		return "", fmt.Errorf("GOFLAGS=%s: go build takes one -overlay, and postage bench has its own", facts[2])
	}
	root, system := strings.TrimSpace(facts[0]), strings.TrimSpace(facts[1])
	testing := filepath.Join(root, "src", "testing")
	original, err := os.ReadFile(filepath.Join(testing, "benchmark.go"))
	if err != nil {
		return "", err
	}
	benchmark, err := patched(string(original))
	if err != nil {
		return "", err
	}
	kind := "unix"
	switch system {
	case "linux":
		kind = "linux"
	case "windows", "plan9", "js", "wasip1":
		kind = "other"
	}
	hook, cpu := hookFile("hook"), hookFile("cpu_"+kind)
	files := map[string]string{"benchmark.go": benchmark, "postage.go": hook, "postage_cpu.go": cpu}
	key := sha256.Sum256([]byte(testing + "\x00" + benchmark + "\x00" + hook + "\x00" + cpu))
	cache, err := build.CacheFolder(ctx)
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "overlay", hex.EncodeToString(key[:8]))
	if err := os.MkdirAll(cache, 0o777); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for name := range files {
		replace[filepath.Join(testing, name)] = filepath.Join(cache, name)
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	files["overlay.json"] = string(list)
	for name, text := range files {
		name = filepath.Join(cache, name)
		if _, err := os.Stat(name); err == nil {
			continue
		}
		if err := record.Replace(name, strings.NewReader(text)); err != nil {
			return "", err
		}
	}
	return filepath.Join(cache, "overlay.json"), nil
}
