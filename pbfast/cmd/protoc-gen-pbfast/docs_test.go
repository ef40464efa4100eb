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

// Every command of the docs works, in the order in which they stand there. This module is in the
// place of the one that would be fetched. The first block is for messages of one's own, the second
// for those of a client with protoc, and the third with buf.
func TestDocs(t *testing.T) {
	need(t, "protoc", "Debian's protobuf-compiler")
	module, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimSuffix(reflect.TypeFor[gen.Options]().PkgPath(), "/internal/gen")
	text := strings.ReplaceAll(read(t, filepath.Join(module, "..", "docs", "pbfast.md")), "example.org/you/postage/pbfast", address)
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1)
	if len(blocks) != 3 {
		t.Fatalf("the page has %d blocks of commands, want 3", len(blocks))
	}
	bin, dir := t.TempDir(), t.TempDir()
	sh := func(t *testing.T, dir, command string) {
		t.Helper()
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOBIN="+bin, "GOWORK=off", "GOFLAGS=-mod=mod", "PATH="+bin+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	run := func(t *testing.T, dir string, block int) {
		t.Helper()
		for _, command := range strings.Split(strings.TrimSpace(blocks[block][1]), "\n") {
			switch {
			case strings.HasPrefix(command, "go install "+address):
				sh(t, module, "go install ./cmd/protoc-gen-pbfast")
			case strings.HasPrefix(command, "go get "+address):
				sh(t, dir, "go mod edit -require="+address+"@v0.0.0 -replace="+address+"="+module)
			default:
				sh(t, dir, command)
			}
		}
	}
	write(t, filepath.Join(dir, "order.proto"), schema("shop", "Order"))
	write(t, filepath.Join(dir, "order_test.go"), `package shop

import (
	"testing"

	"`+address+`"
)

func TestOrder(t *testing.T) {
	if err := pbfast.HookError(new(Order)); err != nil {
		t.Error(err)
	}
}
`)
	sh(t, dir, "go mod init example.com/shop")
	run(t, dir, 0)
	sh(t, dir, "go test .")

	client := t.TempDir()
	t.Run("client", func(t *testing.T) {
		if os.Getenv("POSTAGE_LONG") == "" {
			t.Skip("asks the module proxy for etcd's client and an exporter: POSTAGE_LONG=1")
		}
		write(t, filepath.Join(client, "client_test.go"), regexp.MustCompile("(?s)```go\n(.*?)```").FindStringSubmatch(text)[1])
		run(t, client, 1)
		need(t, "npm", "buf, which is npm's")
		sh(t, client, "find vendor -name '*_pbfast.pb.go' -delete; ! go test -mod=vendor -run Hooked .")
		run(t, client, 2)
	})
	t.Run("buf", func(t *testing.T) {
		need(t, "npm", "buf, which is npm's")
		// buf calls a plug-in for each directory, with the parameters for all.
		write(t, filepath.Join(dir, "buf.gen.yaml"), `version: v2
plugins:
  - {local: protoc-gen-go, out: ., opt: paths=source_relative}
  - {local: protoc-gen-pbfast, out: ., opt: [paths=source_relative, skip=a.M]}
`)
		for _, folder := range []string{"a", "b"} {
			write(t, filepath.Join(dir, folder, folder+".proto"), schema(folder, "M"))
		}
		sh(t, dir, "rm *.pb.go")
		sh(t, dir, strings.Split(blocks[2][1], "\n")[0])
		sh(t, dir, "npx buf generate && go test . && go vet ./... && test -e b/b_pbfast.pb.go && test ! -e a/a_pbfast.pb.go")
	})
}

// need skips the test if a program is missing, and fails under CI.
func need(t *testing.T, program, what string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("needs ", what, ": ", err)
	}
}

func schema(pkg, message string) string {
	return `syntax = "proto3";
package ` + pkg + `;
option go_package = "example.com/` + pkg + `";
message ` + message + ` { string name = 1; }
`
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
