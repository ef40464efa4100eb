// Package postgres brings up a real PostgreSQL for a measurement or a test, and takes it away again.
//
// Start looks for a server in this order and takes the first there is:
//
//  1. the user's own, named by [Options].DSN, POSTAGE_DSN or the PG* variables. Work is then confined to
//     one schema that Start creates and Stop drops; a schema of that name which is not ours is refused.
//  2. PostgreSQL's programs on this machine (pg_config --bindir, PATH, the usual folders), with which Start
//     makes a scratch cluster of its own in a temporary folder.
//  3. the same with programs that github.com/fergusstrange/embedded-postgres downloads once, announced on
//     [Options].Log and kept for the next time.
//
// When there is none, the error says what was tried and how to install one.
//
// A scratch cluster listens on a Unix socket and on loopback TCP at a free port, runs as an unprivileged user
// even when the caller is root (PostgreSQL refuses to run as root), has fsync off unless asked for, and
// is gone after Stop. It is also gone after the calling process dies of kill -9: on Linux the kernel stops the
// server (PR_SET_PDEATHSIG), and everywhere a watchdog process notices the end of its input, stops
// the server and removes the folder.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Transport is a way to reach the server.
type Transport string

// The transports of a scratch cluster. A user's own server has the one that its DSN names, whichever is asked for.
const (
	Unix Transport = "unix" // Unix-domain socket
	TCP  Transport = "tcp"  // loopback TCP, 127.0.0.1
)

// Options say which server to use and how to set up a scratch cluster. The zero value is ready for use.
type Options struct {
	// DSN names the user's own server as a libpq URL or keyword string. When empty, POSTAGE_DSN is used, and
	// then the PG* variables if PGHOST, PGHOSTADDR, PGSERVICE or PGDATABASE is set.
	DSN string
	// IgnoreEnvironment makes Start look at neither POSTAGE_DSN nor PG*: without a DSN it makes a scratch cluster.
	IgnoreEnvironment bool
	// Schema is the one that work on the user's own server is confined to. "postage" when empty.
	Schema string

	// BinDir is the folder of initdb and postgres. When empty it is searched for.
	BinDir string
	// Fsync has the scratch cluster sync its files to disk, as a production server does. Off by default.
	Fsync bool
	// Settings are further server settings, such as "shared_buffers": "256MB".
	Settings map[string]string

	// NoDownload rules the download out.
	NoDownload bool
	// Repository is the Maven repository to download from; the library's default when empty.
	Repository string
	// CacheDir keeps what was downloaded; the user's cache folder when empty.
	CacheDir string

	folders []string // patterns in place of usualFolders, for tests

	// Log is where a download is announced. Standard error when nil.
	Log io.Writer
}

// ErrNone is wrapped by the error of Start when this machine has no PostgreSQL and none could be downloaded.
// A test may skip on it.
var ErrNone = errors.New("no PostgreSQL on this machine")

// ErrNotAvailable is wrapped by what cannot be told about a server, such as the CPU time of a remote one.
var ErrNotAvailable = errors.New("not available")

// Server is a PostgreSQL server that is up. Its methods may be called from several goroutines; Stop only once
// nobody uses the server any more.
type Server struct {
	cluster *cluster // a scratch cluster, or
	user    *userServer
	version string
}

// Start finds or makes a server and returns once it answers. ctx bounds the start alone.
// The caller must Stop the server.
func Start(ctx context.Context, o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = os.Stderr
	}
	if o.Schema == "" {
		o.Schema = "postage"
	}
	if dsn, from, ok := userDSN(o); ok {
		u, err := openUserServer(ctx, dsn, o.Schema)
		if err != nil {
			return nil, fmt.Errorf("postgres: server of %s: %w", from, err)
		}
		return &Server{user: u, version: u.version}, nil
	}
	bin, err := findBinaries(o)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	if bin == "" && !o.NoDownload {
		if bin, err = download(ctx, o); err != nil {
			return nil, fmt.Errorf("postgres: %w: %w\nhint: %s", ErrNone, err, installHint())
		}
	}
	if bin == "" {
		return nil, fmt.Errorf("postgres: %w (looked at pg_config --bindir, PATH and the usual folders)\nhint: %s", ErrNone, installHint())
	}
	c, err := startCluster(ctx, bin, o)
	if err != nil {
		return nil, fmt.Errorf("postgres: scratch cluster with %s: %w", bin, err)
	}
	return &Server{cluster: c, version: c.version}, nil
}

// DSN returns the connection string for a transport, in libpq's keyword format for a scratch cluster and in the
// user's own format otherwise. It always leads to a place that Start made and Stop removes.
func (s *Server) DSN(t Transport) string {
	if s.user != nil {
		return s.user.dsn
	}
	return s.cluster.dsn(t)
}

// Scratch reports whether the server is a scratch cluster, not the user's own.
func (s *Server) Scratch() bool { return s.cluster != nil }

// Version is the server's version, such as "15.14".
func (s *Server) Version() string { return s.version }

// Dir is the scratch cluster's folder, which the server's user owns; "" for the user's own server.
func (s *Server) Dir() string {
	if s.cluster == nil {
		return ""
	}
	return s.cluster.dir
}

// ProcessCPU is the CPU time, user and system, of one process, such as the backend whose id a connection reports, to the
// nanosecond where the kernel has schedstat, else to the clock tick (10 ms).
// The error wraps ErrNotAvailable on another system than Linux.
func ProcessCPU(pid int) (time.Duration, error) { return processCPU(pid) }

// Stop stops a scratch cluster and removes its folder, or drops the schema on the user's own server.
func (s *Server) Stop() error {
	if s.user != nil {
		if err := s.user.close(); err != nil {
			return fmt.Errorf("postgres: %w", err)
		}
		return nil
	}
	if err := s.cluster.stop(); err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	return nil
}
