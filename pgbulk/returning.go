package pgbulk

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"
)

// Returning has a call hand out the rows that it wrote, as they then are in the table, after
// defaults and triggers. See [Return].
//
// Rows come while others are still being sent, and are not collected: memory stays the same however
// many there are. They are handed out one at a time, in another goroutine than the one in which the
// source is run, and before the call's transaction is committed: an error undoes all of it and is
// the call's error, and a panic is passed on. The function must not use the connection, nor wait
// for the source. Rows that the call leaves alone, because of SkipExisting, SkipUnchanged or Where,
// are not handed out, and their order is not promised; a field with the key says which is which.
//
// It takes one more round trip, for the commit, if there is no transaction yet. Insert cannot then
// copy straight into the table: it costs what Upsert does, and Auto chooses as for Upsert.
type Returning struct {
	row  reflect.Type
	open func() handler
}

// handler gives out one row after the other, always from the same place.
type handler struct {
	row  reflect.Value // to be filled in
	each func() error
}

// Return calls each with every row that was written. T is a struct; its fields are matched with the
// table's columns as [Structs] does, and these columns are returned. The role needs SELECT on them.
func Return[T any](each func(row T) error) *Returning {
	return &Returning{row: reflect.TypeFor[T](), open: func() handler {
		row := new(T)
		return handler{reflect.ValueOf(row).Elem(), func() error { return each(*row) }}
	}}
}

// returned is what a statement returns.
type returned struct {
	request *Returning
	names   []string // columns
	paths   [][]int  // of their fields
	formats []byte   // for Bind
	clause  string   // RETURNING, with a leading space
}

// returning finds the columns for the fields.
func (p *plan) returning() (*returned, error) {
	r := &returned{request: p.settings.Returning}
	fields, err := structsOf(r.request.row)
	switch {
	case r.request.row.Kind() != reflect.Struct:
		return nil, fmt.Errorf("returned rows of type %v: not a struct", r.request.row)
	case err != nil:
		return nil, fmt.Errorf("returned rows of type %v: %w", r.request.row, err)
	case len(fields.fields) == 0:
		return nil, fmt.Errorf("returned rows of type %v: no exported fields", r.request.row)
	}
	var list, names []string
	for _, c := range p.layout.all {
		names = append(names, c.name)
	}
	if r.names, r.paths, err = fields.columnsOf(names); err != nil {
		return nil, err
	}
	m := p.conn.TypeMap()
	for _, name := range r.names {
		list = append(list, "t."+quote(name))
		format := byte(textFormat)
		if t, ok := m.TypeForOID(p.layout.all[slices.Index(names, name)].oid); ok && t.Codec.FormatSupported(binaryFormat) {
			format = binaryFormat
		}
		r.formats = append(r.formats, format)
	}
	r.clause = " returning " + strings.Join(list, ", ")
	return r, nil
}

// returner decodes the rows of one exchange and hands them out. It is used by the goroutine that
// reads.
type returner struct {
	handler  handler
	names    []string
	targets  []any
	m        *pgtype.Map
	lock     *sync.Mutex // of the type map, which the writing goroutine uses too
	fields   []pgproto3.FieldDescription
	plans    []pgtype.ScanPlan
	err      error // why nothing is handed out any more
	panicked any
}

func (r *returned) returner(m *pgtype.Map, lock *sync.Mutex) *returner {
	t := &returner{handler: r.request.open(), names: r.names, m: m, lock: lock}
	for _, path := range r.paths {
		t.targets = append(t.targets, t.handler.row.FieldByIndex(path).Addr().Interface())
	}
	return t
}

// take takes a row, and reports whether to go on.
func (t *returner) take(values [][]byte) bool {
	if t.err != nil {
		return false
	}
	if t.err = t.scan(values); t.err == nil {
		t.err = t.hand()
	}
	return t.err == nil
}

func (t *returner) scan(values [][]byte) error {
	if len(values) != len(t.targets) || len(t.fields) != len(t.targets) {
		return fmt.Errorf("a row of %d columns was returned, want %d", len(values), len(t.targets))
	}
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.plans == nil {
		for i, f := range t.fields {
			t.plans = append(t.plans, t.m.PlanScan(f.DataTypeOID, f.Format, t.targets[i]))
		}
	}
	t.handler.row.SetZero()
	for i, v := range values {
		if err := t.plans[i].Scan(v, t.targets[i]); err != nil {
			return fmt.Errorf("returned column %q: %w", t.names[i], err)
		}
	}
	return nil
}

var errPanicked = errors.New("the function that rows are returned to panicked")

func (t *returner) hand() (err error) {
	defer func() {
		if p := recover(); p != nil {
			t.panicked, err = p, errPanicked
		}
	}()
	return t.handler.each()
}

// refused reports that the function for returned rows failed.
func (s *stream) refused() bool { return s.answer.returner != nil && s.answer.returner.err != nil }

// resultFormats is how many bytes the formats of what is returned take in a Bind message.
func (p *plan) resultFormats() int {
	if p.returned == nil {
		return 0
	}
	return 2 * len(p.returned.formats)
}
