package pgbulk

import (
	"context"
	"errors"
	"fmt"
)

// Compression is a method by which PostgreSQL compresses large values, see
// https://www.postgresql.org/docs/current/runtime-config-client.html#GUC-DEFAULT-TOAST-COMPRESSION.
type Compression string

// The methods. LZ4 needs PostgreSQL 14, built with it.
const (
	PGLZ Compression = "pglz"
	LZ4  Compression = "lz4"
)

func (c Compression) check() error {
	if c != "" && c != PGLZ && c != LZ4 {
		return fmt.Errorf("unknown compression %q: want PGLZ or LZ4", c)
	}
	return nil
}

// compressing has write run while the server's default for compression is the options'. The setting
// is local to a transaction, which is begun if the caller has none: behind a pooler it then applies
// to the right statements. In the caller's transaction it is put back, also after an error that
// left it alive.
func (p *plan) compressing(ctx context.Context, write func() (Result, error)) (result Result, err error) {
	b := pool.Get().(*buffers)
	defer b.put()
	pc := p.conn.PgConn()
	before, err := p.defaultCompression(ctx, b)
	if err != nil {
		e := p.error(err)
		e.Closed = pc.IsClosed()
		return Result{}, e
	}
	set := func(c Compression) string { return fmt.Sprintf("set local default_toast_compression = '%s'", c) }
	begin, end := set(p.options.Compression), set(before)
	ours := pc.TxStatus() == 'I'
	if ours {
		begin, end = "begin; "+begin, "commit"
	}
	done := false
	defer func() { // also if the source of rows panics
		undo := "rollback"
		switch status := pc.TxStatus(); {
		case done || pc.IsClosed() || status == 'I' || !ours && status == 'E': // an aborted transaction's setting ends with it
			return
		case !ours:
			undo = end
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), CancelGrace)
		defer cancel()
		if b.exec(ctx, pc, undo) != nil {
			pc.Close(ctx)
		}
		if e, ok := errors.AsType[*Error](err); ok {
			e.Closed = pc.IsClosed()
		}
	}()
	if err := b.exec(ctx, pc, begin); err != nil {
		e := p.error(err)
		e.Closed = pc.IsClosed()
		return Result{}, e
	}
	if result, err = write(); err != nil {
		return result, err
	}
	s := open(ctx, pc, b)
	s.query(end)
	s.flush()
	s.complete = s.err == nil
	if err := s.close(); err != nil {
		e := p.error(err)
		e.Closed, e.Uncertain = pc.IsClosed(), ours && s.uncertain()
		return Result{Rows: result.Rows, Strategy: result.Strategy}, e
	}
	done = true
	return result, nil
}

// compressionQuery asks for the default, and whether there is the method $1.
const compressionQuery = "select setting, $1 = any(enumvals) from pg_settings where name = 'default_toast_compression'"

// defaultCompression is the setting as it is now, or why it cannot be changed as the options say.
func (p *plan) defaultCompression(ctx context.Context, b *buffers) (Compression, error) {
	want := string(p.options.Compression)
	rows, err := b.ask(ctx, p.conn.PgConn(), compressionQuery, want)
	switch {
	case err != nil:
		return "", err
	case len(rows) != 1:
		return "", errors.New("Options.Compression needs PostgreSQL 14: this server has no default_toast_compression")
	case string(rows[0][1]) != "t":
		return "", fmt.Errorf("this PostgreSQL was built without %s: leave Options.Compression out", want)
	}
	return Compression(rows[0][0]), nil
}
