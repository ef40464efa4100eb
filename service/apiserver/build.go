package apiserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"postage/proc"
)

// progressInterval is how often a build says how far it is.
const progressInterval = 10 * time.Second

// Build builds the server of a kind unless it is built. It takes minutes, a gigabyte of modules and nearly three of
// memory the first time; Go's build cache makes it a matter of seconds once the packages have been compiled.
func Build(ctx context.Context, kind Kind, log io.Writer) error {
	p, err := programOf(kind)
	if err != nil {
		return fmt.Errorf("apiserver: %w", err)
	}
	file, err := p.file()
	if err != nil {
		return fmt.Errorf("apiserver: %w", err)
	}
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	return build(ctx, p, file, log)
}

func build(ctx context.Context, p *program, file string, log io.Writer) error {
	folder := filepath.Dir(file)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	// Two may build at a time, and one may be interrupted: what stands at the final name is whole.
	temporary, err := os.MkdirTemp(folder, "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	began := time.Now()
	fmt.Fprintf(log, "postage: building the API server %s, once: some 8 minutes the first time\n", p.kind)
	product := filepath.Join(temporary, "server")
	// -v names each package that is compiled, which is the progress; packages that are cached are not named.
	cmd := exec.CommandContext(ctx, "go", "build", "-v", "-buildvcs=false", "-o", product, p.pkg)
	cmd.Dir = p.module
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
	proc.OwnGroup(cmd)
	cmd.WaitDelay = 5 * time.Second
	reader, writer := io.Pipe()
	cmd.Stderr = writer
	progress := &progress{log: log, began: began}
	read := make(chan struct{})
	go func() {
		defer close(read)
		progress.read(reader)
	}()
	ticked, stopTicking := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ticked)
		progress.tick(stopTicking)
	}()
	building, err := proc.Start(cmd, syscall.SIGKILL)
	if err == nil {
		<-building.Done
		err = building.Err()
	}
	_ = writer.Close()
	close(stopTicking)
	<-read
	<-ticked
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("building was interrupted after %v; what was compiled is kept in Go's cache: %w", time.Since(began).Round(time.Second), ctx.Err())
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("building needs the go command: %w", err)
	case err != nil:
		return fmt.Errorf("go build %s in %s: %w: %s", p.pkg, p.module, err, strings.Join(progress.said, "; "))
	}
	if err := os.Rename(product, file); err != nil {
		return err
	}
	fmt.Fprintf(log, "postage: built %s in %v\n", file, time.Since(began).Round(time.Second))
	return nil
}

// progress is what go build -v says.
type progress struct {
	log      io.Writer
	began    time.Time
	packages atomic.Int64
	last     atomic.Pointer[string]
	said     []string // that is no package: errors, the last ones
}

func (p *progress) read(from io.Reader) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "go: downloading "):
			line = strings.TrimPrefix(line, "go: ")
			p.last.Store(&line)
		case strings.ContainsAny(line, " \t#") || line == "":
			if line != "" {
				p.said = append(p.said[max(0, len(p.said)-9):], line)
			}
		default:
			p.packages.Add(1)
			p.last.Store(&line)
		}
	}
	_, _ = io.Copy(io.Discard, from) // a line too long must not stop the build
}

func (p *progress) tick(stop <-chan struct{}) {
	ticker := time.NewTicker(progressInterval)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			last := "the rest is in Go's cache so far"
			if at := p.last.Load(); at != nil {
				last = *at
			}
			fmt.Fprintf(p.log, "postage: building, %v: %d packages compiled, %s\n", time.Since(p.began).Round(time.Second), p.packages.Load(), last)
		}
	}
}
