//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A peer is a generator, or nginx, and the way to get it.
type peer struct {
	name    string
	install string // a command
}

// all are the programs that are used. Those in Go are built at the versions in go.mod.
var all = []peer{
	{"postage", "go build ./cmd/postage"},
	{"wrk", "apt-get install wrk"},
	{"h2load", "apt-get install nghttp2-client"},
	{"vegeta", "go build github.com/tsenart/vegeta/v12"},
	{"k6", "go build go.k6.io/k6"},
	{"fortio", "go build fortio.org/fortio"},
	{"oha", "cargo install --locked --version 1.16.0 oha"},
	{"ghz", "go build github.com/bojand/ghz/cmd/ghz"},
}

func peerNames() (names []string) {
	for _, p := range all[1:] {
		names = append(names, p.name)
	}
	return names
}

// peers are the paths of the programs, by name. A missing program has none.
type peers struct {
	paths  map[string]string
	folder string
}

// install finds or builds the programs that were asked for, and says what is missing.
func install(ctx context.Context, folder, wanted string) (peers, error) {
	p := peers{map[string]string{}, folder}
	for _, one := range all {
		if one.name != "postage" && !among(wanted, one.name) {
			continue
		}
		path := filepath.Join(folder, one.name)
		if build, ok := strings.CutPrefix(one.install, "go build "); ok {
			fmt.Fprintln(os.Stderr, "peers: build", one.name)
			cmd := exec.CommandContext(ctx, "go", "build", "-o", path, build)
			if one.name == "postage" {
				cmd.Dir = filepath.Join("..", "..")
			} else {
				cmd.Env = append(os.Environ(), "GOWORK=off") // a workspace also loads older modules, and packages become ambiguous
			}
			if text, err := cmd.CombinedOutput(); err != nil {
				return p, fmt.Errorf("build %s: %w\n%s", one.name, err, text)
			}
		} else if found, err := exec.LookPath(one.name); err == nil {
			path = found
		} else {
			fmt.Fprintf(os.Stderr, "peers: %s is left out because it is not installed: %s\n", one.name, one.install)
			continue
		}
		p.paths[one.name] = path
	}
	return p, errors.Join(
		os.WriteFile(p.body(), []byte(body), 0o600),
		os.WriteFile(filepath.Join(folder, "script.js"), []byte(script), 0o600),
		os.WriteFile(filepath.Join(folder, "hello.proto"), []byte(protoFile), 0o600))
}

// body is the file with the body of requests.
func (p peers) body() string { return filepath.Join(p.folder, "body.json") }

// write writes the file that tells vegeta where to send requests.
func (p peers) write(url string) error {
	return os.WriteFile(filepath.Join(p.folder, "targets"), []byte("GET "+url+"\n"), 0o600)
}
