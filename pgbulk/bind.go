package pgbulk

import (
	"encoding/binary"
	"fmt"
	"strconv"
)

// savepoint is the name of the savepoints inside of the caller's transaction, which are gone when a
// call returns.
const savepoint = "pgbulk"

// saves reports whether the rows go after a savepoint in the caller's transaction: the search for a
// row at fault begins there. If there is but one row there is no search.
func (w *writer) saves() bool {
	return w.inTx && w.options.LocateWithin > 0 && !(w.alone && w.n == 1)
}

// bindChunk sends the chunk as one INSERT. The statement is parsed again only if its number of rows
// has changed.
func (w *writer) bindChunk() error {
	if w.keyOrder() && !w.alone && !w.again {
		return errKeyOrder
	}
	c, columns := &w.chunk, len(w.columns)
	params := c.rows() * w.params()
	if size := c.size() + bindOverhead + 4*columns; size > maxValue {
		return &rowError{row: c.first, err: fmt.Errorf("statement of %d bytes: %w", size, ErrTooLarge)}
	}
	if w.strategy == Unnest && c.rows() > 1 && w.out == nil {
		w.unnestChunk()
		return nil
	}
	w.startBind()
	s := w.stream
	if s.stop.Load() {
		return nil
	}
	parse := w.parsed != c.rows()
	if parse {
		w.sql = w.appendInsert(w.sql[:0], c.rows())
		s.parse(w.sql, w.types, params)
		w.parsed = c.rows()
	}
	w.sent = append(w.sent, c.first)
	s.bind("", w.formats, params, c.size()+w.resultFormats())
	lent := c.referred == 0 && len(c.data) >= bufferSize/2
	if lent {
		s.refer(alias(c.data))
	} else {
		c.write(s, 0, c.rows())
	}
	w.executeRows()
	// The chunk is about to be used again. And statement_timeout runs from the Parse to the
	// Execute, however long the source of rows takes between them.
	if lent || parse {
		s.flush()
	}
	return nil
}

// startBind begins the exchange.
func (w *writer) startBind() {
	if w.stream != nil {
		return
	}
	w.openStream()
	w.sign()
	// Several statements under one Sync are one transaction too, but not to every pooler.
	w.begun = !w.inTx && (w.returned != nil || !w.alone)
	switch {
	case w.saves():
		w.stream.command("savepoint " + savepoint)
	case w.begun:
		w.stream.command("begin")
	}
}

// bindRow sends a row as a statement of its own. Large values are sent without a copy.
func (w *writer) bindRow(row []any) error {
	if w.keyOrder() {
		return errKeyOrder
	}
	if len(row) != len(w.columns) {
		return &rowError{row: w.n, err: errTooMany}
	}
	size := 0
	w.scratch = w.scratch[:0] // the other values, one after the other
	for i, v := range row {
		c := &w.columns[i]
		n := 0
		if p, ok := c.shape.plain(v); ok {
			if n = 4 + c.prefix() + len(p); n-4 > maxValue {
				return &rowError{w.n, c.name, tooLarge(n - 4)}
			}
		} else {
			start := len(w.scratch)
			var err error
			if w.scratch, err = w.append(w.scratch, i, v); err != nil {
				return &rowError{w.n, c.name, err}
			}
			n = len(w.scratch) - start
		}
		size += n
	}
	if total := size + bindOverhead + 2*len(row); total > maxValue {
		return &rowError{row: w.n, err: fmt.Errorf("row of %d bytes: %w", size, ErrTooLarge)}
	}
	rows := 1
	if w.watching {
		key, ok, err := w.keyOf(row)
		if err != nil {
			return err
		}
		if ok && w.twice(key) {
			if rows = 2; rows*size > maxValue/2 {
				return &rowError{row: w.n, err: errAgain} // the server could not be asked
			}
		}
	}
	w.startBind()
	s := w.stream
	if s.stop.Load() {
		return nil
	}
	if w.parsed != rows {
		w.sql = w.appendInsert(w.sql[:0], rows)
		s.parse(w.sql, w.types, rows*w.params())
		w.parsed = rows
	}
	w.sent = append(w.sent, w.n)
	s.bind("", w.formats, rows*w.params(), rows*size+w.resultFormats())
	for range rows {
		others := w.scratch
		for i, v := range row {
			c := &w.columns[i]
			if p, ok := c.shape.plain(v); ok {
				s.int32(c.prefix() + len(p))
				if c.prefix() == 1 {
					s.byte(1)
				}
				s.refer(p)
				continue
			}
			if isDefault(v) {
				continue
			}
			n := 4 + max(0, int(int32(binary.BigEndian.Uint32(others))))
			s.bytes(others[:n])
			others = others[n:]
		}
	}
	w.executeRows()
	s.flush() // while the row is ours
	w.chunk.reset(w.n + 1)
	if rows == 2 {
		return errAgain
	}
	return nil
}

// keyOf encodes a row's key.
func (w *writer) keyOf(row []any) (key []byte, ok bool, err error) {
	w.key = w.key[:0]
	for i, is := range w.isKey {
		if !is {
			continue
		}
		if isDefault(row[i]) {
			return nil, false, nil
		}
		start := len(w.key)
		if w.key, err = w.append(w.key, i, row[i]); err != nil {
			return nil, false, &rowError{w.n, w.columns[i].name, err}
		}
		if w.key[start] == 0xff && !w.layout.nullsAlike {
			return nil, false, nil
		}
	}
	return w.key, true, nil
}

// endBind ends the exchange.
func (w *writer) endBind() {
	switch {
	case w.saves():
		w.stream.command("release savepoint " + savepoint)
	case w.begun && w.returned == nil:
		w.stream.command("commit")
	}
	w.stream.sync()
}

// appendInsert appends the statement that inserts a number of rows.
func (w *writer) appendInsert(sql []byte, rows int) []byte {
	sql = append(sql, w.head...)
	sorted := w.sorted() && rows > 1
	if sorted {
		sql = append(sql, "select * from ("...)
	}
	sql = append(sql, "values "...)
	n := 0
	for r := range rows {
		if r > 0 {
			sql = append(sql, ',')
		}
		for i := range w.columns {
			if i == 0 {
				sql = append(sql, '(')
			} else {
				sql = append(sql, ',')
			}
			if w.out != nil && w.out[i] {
				sql = append(sql, "default"...)
				continue
			}
			n++
			sql = strconv.AppendInt(append(sql, '$'), int64(n), 10)
		}
		sql = append(sql, ')')
	}
	if sorted {
		sql = append(sql, ") as v ("+quoteAll(w.table.Columns)+")"+w.orderBy()...)
	}
	return append(sql, w.tail...)
}

// failedStatement returns the rows of the statement that the server's error was about.
func (w *writer) failedStatement() (first, last int, ok bool) {
	i := w.stream.commands
	if w.saves() || w.begun {
		i-- // the savepoint, or BEGIN
	}
	if i < 0 || i >= len(w.sent) {
		return 0, 0, false // not about a statement of rows: a deferred constraint, say
	}
	if i+1 < len(w.sent) {
		return w.sent[i], w.sent[i+1] - 1, true
	}
	return w.sent[i], max(w.sent[i], w.n-1), true // row n itself, if its key came again
}
