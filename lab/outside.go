package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"io"

	"postage/internal/sys/proc"
	"postage/internal/verdict"
)

// What a suite declares of its figures: see [Suite].
type Figures = verdict.Figures

// A Child is a process that [StartServer] started, which answers questions in JSON.
type Child = proc.Child

// A Server is the main function of a process that [StartServer] started: it reads its configuration
// with [ReadConfig], if it has one, starts serving, and calls [Serve].
type Server = proc.Server

// StartServer starts this program again as the named server of [Suite.Servers], gives it config,
// unless that is nil, and reads what it says when it is ready, before ctx ends. Close ends it.
func StartServer(ctx context.Context, name string, config, ready any) (*Child, error) {
	return proc.StartServer(ctx, name, config, ready)
}

// ReadConfig reads, before [Serve], what [StartServer] was given.
func ReadConfig(stdin *bufio.Reader, config any) error { return proc.ReadConfig(stdin, config) }

// Serve writes ready, unless that is nil, and then answers each line of the input until that ends.
// An answer must be a JSON object without a field "error", which is for errors.
func Serve(stdin io.Reader, stdout io.Writer, ready any, answer func(question json.RawMessage) (any, error)) error {
	return proc.Serve(stdin, stdout, ready, answer)
}
