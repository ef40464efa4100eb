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

// Every command of the docs works, in the order in which they stand there. This module
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
	address := strings.TrimSuffix(reflect.TypeFor[gen.Options]().PkgPath(), "/internal/gen")
	text := strings.ReplaceAll(read(t, filepath.Join(module, "..", "docs", "pbfast.md")), "example.org/you/postage/pbfast", address)
	dir, clients := t.TempDir(), t.TempDir()
	for _, m := range regexp.MustCompile("(?s)`([a-z_.]+)`,[^\n]*\n\n```\\w+\n(.*?)```").FindAllStringSubmatch(text, -1) {
		to := dir
		if m[1] == "schema.go" || m[1] == "client_test.go" {
			to = clients
		}
		write(t, filepath.Join(to, m[1]), m[2])
	}
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1)
	if len(blocks) != 3 {
		t.Fatalf("the page has %d blocks of commands, want one for protoc, one for buf, and one for clients", len(blocks))
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
	here := "go mod edit -require=" + address + "@v0.0.0 -replace=" + address + "=" + module
	run := func(dir string, block int) {
		t.Helper()
		for _, command := range strings.Split(strings.TrimSpace(blocks[block][1]), "\n") {
			if strings.HasPrefix(command, "go install "+address) {
				sh(module, "go install ./cmd/protoc-gen-pbfast")
				continue
			}
			sh(dir, strings.Replace(command, "go get "+address+"@latest", here, 1))
		}
	}
	run(dir, 0)
	if os.Getenv("POSTAGE_LONG") != "" { // asks for etcd and OpenTelemetry
		run(clients, 2)
	}

	if _, err := exec.LookPath("npm"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("buf is npm's: ", err)
	}
	// buf calls a plug-in for each directory, with the parameters for all.
	write(t, filepath.Join(dir, "buf.gen.yaml"), strings.Replace(read(t, filepath.Join(dir, "buf.gen.yaml")),
		"protoc-gen-pbfast, out: ., opt: paths=source_relative", "protoc-gen-pbfast, out: ., opt: [paths=source_relative, skip=a.M]", 1))
	for _, folder := range []string{"a", "b"} {
		write(t, filepath.Join(dir, folder, folder+".proto"), `syntax = "proto3";
package `+folder+`;
option go_package = "example.com/shop/`+folder+`";
message M { string name = 1; }
`)
	}
	sh(dir, "rm *.pb.go")
	run(dir, 1)
	sh(dir, "go vet ./... && test -e b/b_pbfast.pb.go && test ! -e a/a_pbfast.pb.go")
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
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
