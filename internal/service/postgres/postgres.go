// Package postgres brings up a real PostgreSQL for a measurement or a test, and removes it
// afterwards.
//
// Start takes the user's own server, if [Options].DSN, POSTAGE_DSN or the PG* variables name one.
// Work is then confined to one schema that Start creates and Stop drops. Start refuses to replace a
// schema of that name that postage did not make.
//
// Otherwise package pgtest makes a scratch cluster in a temporary folder with PostgreSQL's programs
// on this machine. If there are none, the error says how to install them.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"postage/pgbulk/pgtest"
)

// Options say which server to use and how to set up a scratch cluster. The zero value is ready for
// use.
type Options struct {
	// DSN names the user's own server as a libpq URL or keyword string. When empty, POSTAGE_DSN is
	// used, and then the PG* variables if PGHOST, PGHOSTADDR, PGSERVICE or PGDATABASE is set.
	DSN string
	// Schema is the one that work on the user's own server is confined to. "postage" when empty.
	Schema string

	// Scratch sets up the scratch cluster.
	Scratch pgtest.Options
}

// Server is a running PostgreSQL server. Its methods may be called from several goroutines; call
// Stop when nothing uses the server any more.
type Server struct {
	cluster *pgtest.Server // a scratch cluster, or
	user    *userServer
}

// Start finds or makes a server and returns once it answers. ctx bounds the start alone.
// The caller must Stop the server.
func Start(ctx context.Context, o Options) (*Server, error) {
	o.Schema = cmp.Or(o.Schema, "postage")
	if dsn, from, ok := userDSN(o.DSN); ok {
		u, err := openUserServer(ctx, dsn, o.Schema)
		if err != nil {
			return nil, fmt.Errorf("postgres: server of %s: %w", from, err)
		}
		return &Server{user: u}, nil
	}
	c, err := pgtest.Start(ctx, o.Scratch)
	if errors.Is(err, pgtest.ErrNone) {
		return nil, fmt.Errorf("postgres: %w  (or name your own server with --dsn or in POSTAGE_DSN)", err)
	} else if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	return &Server{cluster: c}, nil
}

// DSN returns the connection string for a transport, in libpq's keyword format. For the user's own
// server it is in the user's format, and always for the transport that the user named. It names a
// cluster or schema that Start made and Stop removes.
func (s *Server) DSN(t pgtest.Transport) string {
	if s.user != nil {
		return s.user.dsn
	}
	return s.cluster.DSN(t)
}

// Scratch reports whether the server is a scratch cluster, not the user's own.
func (s *Server) Scratch() bool { return s.cluster != nil }

// Stop stops a scratch cluster and removes its folder, or drops the schema on the user's own
// server.
func (s *Server) Stop() error {
	var err error
	if s.user != nil {
		err = s.user.close()
	} else {
		err = s.cluster.Stop()
	}
	if err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	return nil
}
