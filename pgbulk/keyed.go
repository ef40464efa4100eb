package pgbulk

import (
	"context"
	"errors"
	"slices"
)

// keyed is what the keys of a call's rows mean for how they are sent.
type keyed struct {
	unknown   bool // an expression or a predicate decides on conflicts, so that keys cannot be compared here
	inexact   bool // the server may take keys for equal whose bytes differ
	remembers bool // keys are remembered, to find one that comes again in a later statement
	sorts     bool // rows by key where one statement has them all, so that calls do not deadlock

	repeated bool // the last row's key came in an earlier statement: it is sent twice in the last one
	repeats  int  // the row that had the key first
	// The first two rows of one statement that have the same key; the second is 0 if there are
	// none.
	pairFirst, pairSecond int
}

// settle looks at the call.
func (k *keyed) settle(c *session) {
	updates := c.plan.settings.op == opUpdate || c.plan.settings.op == opUpsert && !c.plan.settings.setsNothing()
	k.unknown = updates && (len(c.plan.table.Key) == 0 || c.plan.table.Conflict != "")
	rekeys := c.plan.settings.op == opUpsert && c.plan.layout.relation.rekeys
	k.inexact = updates && (rekeys || !c.plan.layout.bytesDecide(c.plan.table.Key))
	if k.remembers = updates && !k.unknown && !rekeys; k.remembers {
		c.buf.keys.reset()
	}
	c.enc.isKey = make([]bool, len(c.enc.columns))
	for i, name := range c.plan.table.Columns {
		c.enc.isKey[i] = slices.Contains(c.plan.table.Key, name)
	}
	k.sorts = c.plan.settings.op == opUpsert && updates && !k.unknown
}

// settleTriggers asks, before the first of several statements, whether a trigger may make the keys.
// Only then does it matter: within one statement the server compares what the keys are in the end.
func (c *session) settleTriggers(ctx context.Context) error {
	if c.stream != nil || !c.keyed.remembers || c.plan.settings.op != opUpsert {
		return nil
	}
	if c.plan.layout.relation.triggers {
		var rows [][][]byte
		err := c.meanwhile(func() (err error) {
			rows, err = c.buf.ask(ctx, c.pc, triggerQuery, c.plan.table.Name.Sanitize())
			return err
		})
		if err != nil {
			return err
		}
		c.plan.layout.relation.triggers, c.plan.layout.relation.rekeys = false, c.plan.layout.relation.rekeys || len(rows) > 0
	}
	if c.plan.layout.relation.rekeys {
		c.keyed.remembers, c.keyed.inexact = false, true
	}
	return nil
}

// meanwhile uses the connection before the rows are sent.
func (c *session) meanwhile(do func() error) error {
	c.lock.Close()
	err := do()
	if !c.pc.IsClosed() {
		c.lock = c.pc.StartPipeline(context.Background())
	}
	return err
}

// watch looks at the key of row n, the chunk's last, some of whose columns may be left out. It
// reports whether an earlier statement has the key. A single statement would fail; a second one
// would update what the first wrote. To get the server's own error, the row is sent twice in one
// statement.
func (c *session) watch(out defaults) (again bool) {
	k := &c.keyed
	if !k.remembers {
		return false
	}
	isKey, known := out.keyParams(c.enc.isKey)
	if !known {
		return false
	}
	key, ok := c.buf.chunk.appendKey(c.buf.key[:0], c.buf.chunk.rows()-1, isKey)
	if c.buf.key = key; !ok {
		return false
	}
	first, again := c.buf.keys.add(key, c.n)
	if !again {
		return false
	}
	if first >= c.buf.chunk.first { // in the same statement the server sees it
		if k.pairSecond == 0 {
			k.pairFirst, k.pairSecond = first, c.n
		}
		return false
	}
	k.repeated, k.repeats = true, first
	return true
}

// errAgain ends a call whose last statement is certain to fail.
var errAgain = errors.New("a key occurs twice in one call")
