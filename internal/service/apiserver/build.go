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

// Program returns the file of a server, and builds the server first if it is missing. The first
// build takes minutes, a gigabyte of modules and nearly three of memory. Later ones take seconds,
// thanks to Go's build cache. [Kubernetes]' program is also the other programs of a cluster. Beside
// it is pause, which its pods need.
func Program(ctx context.Context, kind Kind, log io.Writer) (file string, err error) {
	p, file, built, err := locate(kind)
	if err != nil || built {
		return file, err
	}
	return file, build(ctx, p, file, log)
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
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"build", "-buildvcs=false", "-ldflags=-s -w", "-o", product}, p.packages)...)
	cmd.Dir = p.module
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
	proc.OwnGroup(cmd)
	cmd.WaitDelay = 5 * time.Second
	var said bytes.Buffer
	cmd.Stderr = io.MultiWriter(log, &said) // it names what it downloads
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
		return fmt.Errorf("go build %s in %s: %w: %s", strings.Join(p.packages, " "), p.module, err, lastLines(said.String(), 10))
	}
	if err := os.Rename(product, file); err != nil {
		return err
	}
	fmt.Fprintf(log, "postage: built %s in %v\n", file, time.Since(began).Round(time.Second))
	return nil
}
