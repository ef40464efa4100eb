// Package pgtest brings up a scratch PostgreSQL for tests and takes it away again.
//
// It needs PostgreSQL's programs on the machine (Debian: apt-get install postgresql) and no running
// server:
//
//	server, err := pgtest.Start(ctx, pgtest.Options{})
//	…
//	defer server.Stop()
//	conn, err := pgx.Connect(ctx, server.DSN(pgtest.Unix))
//
// The server listens on a Unix socket and on loopback TCP at a free port, has a folder of its own
// for everything, runs as an unprivileged user even when the caller is root (PostgreSQL refuses to
// run as root), has fsync off unless asked for, and is up within a second or two. It is gone after
// Stop, and also after the calling process dies of kill -9: a watchdog process notices the end of
// its input, stops the server and removes the folder.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
)

// Transport is a way to reach the server.
type Transport string

// The transports of a scratch server.
const (
	Unix Transport = "unix" // Unix-domain socket
	TCP  Transport = "tcp"  // loopback TCP, 127.0.0.1
)

// Options say how to set up the server. The zero value is ready for use.
type Options struct {
	// BinDir is the folder of initdb and postgres. If it is empty, Find looks for them.
	BinDir string
	// Fsync has the server sync its files to disk, as a production server does. Off by default.
	Fsync bool
	// Settings are further server settings, such as "shared_buffers": "256MB".
	Settings map[string]string
	// Start starts the server's program where it is to listen, as in another network namespace, with
	// listen_addresses among the Settings. If it is nil, that is here, on loopback.
	Start func(*exec.Cmd) error
}

// ErrNone is wrapped by the errors of Find and Start when this machine has no PostgreSQL. A test
// may skip on it.
var ErrNone = errors.New("no PostgreSQL on this machine")

// Server is a running PostgreSQL server. Its methods may be called from several goroutines; call
// Stop when nothing uses the server any more.
type Server struct {
	dir      string // holds everything: data, socket and log
	port     int
	password string // for TCP, which any user of the machine could connect to; the socket's folder is private

	process  *process
	watchdog *exec.Cmd
	lifeline io.Closer // the watchdog's standard input: closed, by us or by the kernel, it cleans up
}

// Start makes a server and returns once it answers. ctx bounds the start alone. The caller must
// Stop the server.
func Start(ctx context.Context, o Options) (*Server, error) {
	if o.BinDir == "" {
		var err error
		if o.BinDir, err = Find(); err != nil {
			return nil, fmt.Errorf("pgtest: %w\nhint: %s", err, InstallHint)
		}
	} else if !HasPrograms(o.BinDir) {
		return nil, fmt.Errorf("pgtest: no initdb, postgres and pg_ctl in %s", o.BinDir)
	}
	s, err := newServer(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("pgtest: scratch cluster with %s: %w", o.BinDir, err)
	}
	return s, nil
}

// Dir is the server's folder, which the server's user owns. Its data is in "data", its log is the
// file "log".
func (s *Server) Dir() string { return s.dir }

// Stop shuts the server down at once and removes its folder.
func (s *Server) Stop() error {
	if err := s.stop(); err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	return nil
}
