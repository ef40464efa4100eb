package apiserver

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// program is a server that is built from a nested module of this repository.
type program struct {
	kind   Kind
	source string // the repository's folder
	module string // the nested module's folder
	// packages are go build's arguments. From one package it makes a file, from several a folder
	// of files, and the server's file there is named program.
	packages []string
}

// packages are the arguments of go build. kcp comes from the module cache: the go.mod in folder kcp
// names it as a tool.
var packages = map[Kind][]string{
	Generic:    {"./generic"},
	KCP:        {"github.com/kcp-dev/kcp/cmd/kcp"},
	Kubernetes: {".", "./pause"},
}

// programs is the folder of the nested module that needs all of Kubernetes.
var programs = filepath.Join("internal", "service", "kubernetes", "program")

func programOf(kind Kind) (*program, error) {
	pkgs, ok := packages[kind]
	if !ok {
		return nil, fmt.Errorf("there is no such API server: want %s, %s, %s or %s", Generic, KCP, Kubernetes, User)
	}
	source, err := sourceTree()
	if err != nil {
		return nil, err
	}
	module := filepath.Join(source, programs)
	if kind == KCP {
		module = filepath.Join(source, "internal", "service", "apiserver", "kcp")
	}
	return &program{kind: kind, source: source, module: module, packages: pkgs}, nil
}

// sourceTree finds the repository, whose nested modules build the servers: above the current
// folder, or else where this program was compiled. Go cannot embed a nested module in the program.
func sourceTree() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if isSource(dir) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if _, file, _, ok := runtime.Caller(0); ok {
		if dir := filepath.Join(filepath.Dir(file), "..", "..", ".."); filepath.IsAbs(file) && isSource(dir) {
			return filepath.Clean(dir), nil
		}
	}
	return "", errors.New("building an API server needs Postage's source tree, which is neither above the current folder nor where this program was compiled: run it in a checkout")
}

// isSource reports whether a folder is the repository's. It cannot go by the module's name, which
// tools/rehome.sh changes.
func isSource(dir string) bool {
	_, workspace := os.Stat(filepath.Join(dir, "go.work"))
	_, module := os.Stat(filepath.Join(dir, programs, "go.mod"))
	return errors.Join(workspace, module) == nil
}

// file returns the path of the built server. A hash of the module's files and Go's version is in the
// name, so each version has a file of its own.
func (p *program) file() (string, error) {
	var names []string
	for _, pattern := range []string{"*.go", "*/*.go", "go.mod", "go.sum"} {
		found, err := filepath.Glob(filepath.Join(p.module, pattern))
		if err != nil {
			return "", err
		}
		names = append(names, found...)
	}
	h := sha256.New()
	fmt.Fprintln(h, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", fmt.Errorf("the source of the API server: %w", err)
		}
		fmt.Fprintln(h, filepath.Base(name), len(text))
		h.Write(text)
	}
	if len(names) == 0 {
		return "", fmt.Errorf("the source of the API server: %s: %w", p.module, fs.ErrNotExist)
	}
	name := "apiserver-" + string(p.kind) + "-" + hex.EncodeToString(h.Sum(nil))[:12]
	name = filepath.Join(p.source, ".postage", "bin", name)
	if len(p.packages) > 1 {
		return filepath.Join(name, "program"), nil
	}
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return name, nil
}

// locate returns the path of a server's program, and whether it is built.
func locate(kind Kind) (p *program, file string, built bool, err error) {
	if p, err = programOf(kind); err != nil {
		return nil, "", false, err
	}
	if file, err = p.file(); err != nil {
		return nil, "", false, err
	}
	_, missing := os.Stat(file)
	return p, file, missing == nil, nil
}

// Built reports whether the server of a kind is built. It takes a millisecond.
func Built(kind Kind) bool {
	_, _, built, _ := locate(kind)
	return built
}
