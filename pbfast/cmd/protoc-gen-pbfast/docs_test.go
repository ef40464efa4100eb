package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"postage/pbfast/internal/gen"
)

// Every command of the docs' first section works, in the order in which they stand there. This module
// is in the place of the one that would be fetched.
func TestDocs(t *testing.T) {
	if _, err := exec.LookPath("protoc"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("needs Debian's protobuf-compiler: ", err)
	}
	module, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(module, "..", "docs", "pbfast.md"))
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimSuffix(reflect.TypeFor[gen.Options]().PkgPath(), "/internal/gen")
	text := strings.ReplaceAll(string(page), "example.org/you/postage/pbfast", address)
	dir := t.TempDir()
	for _, m := range regexp.MustCompile("(?s)`(order\\S+)`,[^\n]*\n\n```\\w+\n(.*?)```").FindAllStringSubmatch(text, -1) {
		write(t, filepath.Join(dir, m[1]), m[2])
	}
	block := regexp.MustCompile("(?s)```sh\n(.*?)```").FindStringSubmatch(text)
	if block == nil {
		t.Fatal("the page has no commands")
	}
	bin := t.TempDir()
	sh := func(dir, command string) {
		t.Helper()
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOBIN="+bin, "GOWORK=off", "GOFLAGS=-mod=mod", "PATH="+bin+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	for _, command := range strings.Split(strings.TrimSpace(block[1]), "\n") {
		switch {
		case strings.HasPrefix(command, "go install "+address):
			sh(module, "go install ./cmd/protoc-gen-pbfast")
		case strings.HasPrefix(command, "go get "+address):
			sh(dir, "go mod edit -require="+address+"@v0.0.0 -replace="+address+"="+module)
		default:
			sh(dir, command)
		}
	}

	// buf calls a plug-in for each directory, with the parameters for all.
	for _, folder := range []string{"a", "b"} {
		write(t, filepath.Join(dir, folder, folder+".proto"), `syntax = "proto3";
package `+folder+`;
option go_package = "example.com/shop/`+folder+`";
message M { string name = 1; }
`)
		sh(dir, "protoc --go_out=. --pbfast_out=. --go_opt=paths=source_relative --pbfast_opt=paths=source_relative,alias=a.M,alias=b.M.name,reuse=b.M "+
			folder+"/"+folder+".proto")
	}
	sh(dir, "go vet ./...")
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
