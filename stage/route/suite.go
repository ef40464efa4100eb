package route

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"postage/internal/proc"
	"postage/lab"
	"postage/record"
	"postage/stage/encode"
	"postage/stage/store"
)

// An opener opens the place that orders are stored in.
type opener func(context.Context, *encode.Orders) (*store.Place, error)

// peers are the places, by the name that cases have for them.
var peers = []struct {
	name, doc string
	open      opener
}{
	{"sink", "a sink that takes rows and stores nothing", func(ctx context.Context, _ *encode.Orders) (*store.Place, error) { return store.OpenSink(ctx) }},
	{"postgres", "PostgreSQL, where the orders exist and are updated", openTable},
}

// openTable makes a table that has every order's key and nothing else of it.
func openTable(ctx context.Context, orders *encode.Orders) (*store.Place, error) {
	rows := make([]store.Row, orders.Len())
	for i := range rows {
		rows[i].ID = int64(orders.Fields(i).Serial)
	}
	return store.OpenTable(ctx, rows)
}

// Suite returns the stage's cases. of is the suite of the stage store, whose server they share.
func Suite(of lab.Suite) lab.Suite {
	suite := lab.Suite{Stage: "route", Doc: "The whole way of an order, from struct to row and back: where does its cost go, and what is saved?",
		Figures: lab.Figures{Says: says}, Servers: map[string]proc.Server{serverName: serve}, Choose: choose}
	var service *lab.Service
	for i := range of.Cases {
		if c := &of.Cases[i]; service == nil && c.Service != nil && record.KeysOf(c.Name).Get("fsync") == "off" {
			service = c.Service
		}
	}
	for _, peer := range peers {
		for _, msgs := range []int{1, 100} {
			c := newCase(msgs, peer.name, peer.open)
			c.Doc = fmt.Sprintf("What does the way of %s cost, from struct over TLS into %s, and the receipt back?", map[int]string{1: "an order", 100: "100 orders in one request"}[msgs], peer.doc)
			if peer.name == "postgres" {
				c.Service = service
			}
			suite.Cases = append(suite.Cases, c)
		}
	}
	return suite
}

func newCase(msgs int, peer string, open opener) lab.Case {
	base := usual(msgs)
	c := lab.Case{Name: fmt.Sprintf("Route/msgs=%d/peer=%s", msgs, peer), Baseline: base.name(), Value: record.ValueWall}
	wholes := []way{base}
	names := []string{base.name()}
	for _, change := range changes(msgs) {
		wholes, names = append(wholes, change.in(base)), append(names, change.name())
	}
	for i, w := range wholes {
		c.Contenders = append(c.Contenders, wholeRow(names[i], w, msgs, open))
	}
	c.Contenders = append(c.Contenders, wholeRow(floorName, bare, msgs, open))
	for _, w := range wholes {
		for _, s := range w.steps() {
			name := w.part(s)
			if slices.ContainsFunc(c.Contenders, func(o lab.Contender) bool { return o.Name == name }) {
				continue
			}
			c.Contenders = append(c.Contenders, lab.Contender{Name: name, Floor: true, Settings: w.settings(), Checks: partChecks[s],
				Open: func(ctx context.Context, env lab.Env) (lab.Instance, error) {
					in, err := openPart(ctx, w, s, msgs, open, env.Seed)
					if err != nil {
						return nil, fmt.Errorf("route: %s: %w", name, err)
					}
					return in, nil
				}})
		}
	}
	return c
}

func wholeRow(name string, w way, msgs int, open opener) lab.Contender {
	row := lab.Contender{Name: name, Floor: w == bare, Settings: w.settings(), Checks: wholeChecks,
		Open: func(ctx context.Context, env lab.Env) (lab.Instance, error) {
			in, err := openWhole(ctx, w, msgs, open, env.Seed)
			if err != nil {
				return nil, fmt.Errorf("route: %s: %w", name, err)
			}
			return in, nil
		}}
	if !row.Floor {
		row.OwnFloor = floorName
	}
	return row
}

// partChecks say what a part's proof checks.
var partChecks = map[step]string{
	stepEncode:    "what was encoded has every field of the orders, and the receipt is theirs",
	stepPack:      "what was unpacked is what was packed, each time",
	stepTransport: "the answer is the prepared one, and the server received every byte by the protocol that the row names",
	stepDecode:    "every field was read, and the rows are the orders'",
	stepStore:     wholeChecks[:strings.Index(wholeChecks, ";")],
}

// choose leaves out the parts of all ways but the usual one, unless a pattern names parts.
func choose(c *lab.Choice) error {
	if c.Resumed || slices.ContainsFunc(c.Patterns, func(pattern string) bool { return strings.Contains(pattern, "part=") || pattern == lab.All }) {
		return nil
	}
	rows := len(c.Entries)
	c.Entries = slices.DeleteFunc(c.Entries, func(e lab.Entry) bool {
		return isPart(e.Contender.Name) && !ofUsual(e.Case.Name, e.Contender.Name)
	})
	if len(c.Entries) < rows {
		c.Note = "route: with the parts of the baseline only; Route/part=* adds those of the other rows"
	}
	return nil
}

// ofUsual says whether a row is a part of the case's baseline.
func ofUsual(name, contender string) bool {
	base := usualOf(name)
	return slices.ContainsFunc(base.steps(), func(s step) bool { return base.part(s) == contender })
}

// usualOf is the baseline of a case.
func usualOf(name string) way {
	if record.KeysOf(name).Get("msgs") == "1" {
		return usual(1)
	}
	return usual(100)
}
