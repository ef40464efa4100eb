package apiserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"postage/internal/sys/proc"
)

// progressInterval is the time between two lines about a build's progress.
const progressInterval = 10 * time.Second

// Program returns the file of a server, and builds the server first if it is missing. The first
// build takes minutes, a gigabyte of modules and nearly three of memory. Later ones take seconds,
// thanks to Go's build cache. [Kubernetes]' program is also the other programs of a cluster. Beside
// it is pause, which its pods need.
func Program(ctx context.Context, kind Kind, log io.Writer) (file string, err error) {
	return built(ctx, Options{Kind: kind, Log: log})
}

// built is Program, which respects Options.BuiltOnly.
func built(ctx context.Context, o Options) (file string, err error) {
	p, file, there, err := locate(o.Kind)
	switch {
	case err != nil || there:
		return file, err
	case o.BuiltOnly:
		return "", fmt.Errorf("%w: %s", ErrNotBuilt, file)
	}
	return file, build(ctx, p, file, o.Log)
}

func build(ctx context.Context, p *program, file string, log io.Writer) error {
	if len(p.packages) > 1 {
		file = filepath.Dir(file)
	}
	folder := filepath.Dir(file)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	// Two processes may build at a time, or one be interrupted. Only a whole program gets the name.
	temporary, err := os.MkdirTemp(folder, "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	began := time.Now()
	fmt.Fprintf(log, "postage: building the API server %s, which takes about 8 minutes the first time\n", p.kind)
	product := filepath.Join(temporary, "server")
	if len(p.packages) > 1 {
		product += string(filepath.Separator) // a folder
	}
	// -v names each package that go build compiles, but no cached ones: that is the progress.
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"build", "-v", "-buildvcs=false", "-ldflags=-s -w", "-o", product}, p.packages)...)
	cmd.Dir = p.module
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
	proc.OwnGroup(cmd)
	cmd.WaitDelay = 5 * time.Second
	progress := &progress{log: log, began: began, next: began.Add(progressInterval)}
	cmd.Stderr = progress
	building, err := proc.Start(cmd, syscall.SIGKILL)
	if err == nil {
		<-building.Done
		err = building.Err()
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("building was interrupted after %v; what was compiled is kept in Go's cache: %w", time.Since(began).Round(time.Second), ctx.Err())
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("building needs the go command: %w", err)
	case err != nil:
		return fmt.Errorf("go build %s in %s: %w: %s", strings.Join(p.packages, " "), p.module, err, strings.Join(progress.said, "; "))
	}
	if err := os.Rename(product, file); err != nil {
		return err
	}
	fmt.Fprintf(log, "postage: built %s in %v\n", file, time.Since(began).Round(time.Second))
	return nil
}

// progress reads what go build -v writes to standard error, and now and then logs how far it is.
type progress struct {
	log         io.Writer
	began, next time.Time
	packages    int
	rest        []byte   // the beginning of an incomplete line
	said        []string // the last lines that name no package: errors
}

func (p *progress) Write(text []byte) (int, error) {
	p.rest = append(p.rest, text...)
	for {
		line, rest, complete := bytes.Cut(p.rest, []byte("\n"))
		if !complete {
			return len(text), nil
		}
		p.line(string(line))
		p.rest = rest
	}
}

func (p *progress) line(line string) {
	line, downloading := strings.CutPrefix(line, "go: downloading ")
	switch {
	case downloading:
		line = "downloading " + line
	case line == "":
		return
	case strings.ContainsAny(line, " \t#"):
		p.said = append(p.said[max(0, len(p.said)-9):], line)
		return
	default:
		p.packages++
	}
	if now := time.Now(); now.After(p.next) {
		p.next = now.Add(progressInterval)
		fmt.Fprintf(p.log, "postage: building, %v: %d packages compiled, %s\n", now.Sub(p.began).Round(time.Second), p.packages, line)
	}
}
