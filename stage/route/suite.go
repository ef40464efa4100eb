package route

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"postage/internal/sys/proc"
	"postage/lab"
	"postage/record"
	"postage/stage/encode"
	"postage/stage/send"
	"postage/stage/store"
)

// A route is the way of one kind of message.
type route struct{ encode.Traffic }

// An opener opens the place that messages are stored in.
type opener func(context.Context, encode.Messages) (*store.Place, error)

// peers are the places, by the name that cases have for them.
var peers = []struct {
	name, doc string
	open      opener
}{
	{"sink", "a sink that takes rows and stores nothing", func(ctx context.Context, messages encode.Messages) (*store.Place, error) {
		return store.OpenSink(ctx, messages.Types())
	}},
	{"postgres", "PostgreSQL, where the rows exist and are updated", openTable},
}

// openTable makes a table that has every message's key and nothing else of it.
func openTable(ctx context.Context, messages encode.Messages) (*store.Place, error) {
	rows := make([][]any, messages.Len())
	for i := range rows {
		rows[i] = make([]any, len(messages.Types()))
		rows[i][0] = messages.Key(i)
	}
	return store.OpenTable(ctx, messages.Types(), rows)
}

// Brought returns the suites of a brought message's program: its way, and the cases of its codecs.
func Brought(codecs lab.Suite, traffic encode.Traffic) []lab.Suite {
	stored, database := store.SuiteAndServer()
	sent := send.Suite()
	suite := Suite(traffic, database, stored, sent)
	suite.Brought = true
	suite.Flags = func(f *flag.FlagSet) {
		stored.Flags(f)
		sent.Flags(f)
	}
	choose := suite.Choose
	suite.Choose = func(c *lab.Choice) error {
		if err := choose(c); err != nil {
			return err
		}
		return stored.Choose(c)
	}
	for _, other := range []lab.Suite{stored, sent} {
		maps.Copy(suite.Servers, other.Servers)
	}
	return []lab.Suite{suite, codecs}
}

// largestRequest is how many bytes 100 messages in one request may have.
const largestRequest = 4 << 20

// Suite returns the cases of a kind of message. They share a database with stored, the suite of the
// stage store, and its --dsn is for them too. So is --link of sent, the suite of the stage send.
func Suite(traffic encode.Traffic, database *lab.Service, stored, sent lab.Suite) lab.Suite {
	r := &route{traffic}
	return lab.Suite{Stage: "route", Doc: "The whole way of " + r.One + ", from struct to row and back: where does its cost go, and what is saved?",
		Figures: lab.Figures{Spoken: r.spoken, Says: r.says}, Servers: map[string]proc.Server{serverName: r.serve},
		Options: []lab.Option{{Name: "msgs", Values: []string{"1", "100"}}},
		Make:    func(set lab.Settings) []lab.Case { return r.cases(set.Int("msgs"), database) },
		Choose: func(c *lab.Choice) error {
			onServer := slices.ContainsFunc(c.Entries, func(e lab.Entry) bool { return e.Case.Service != nil })
			if err := r.choose(c, sent.Choose); err != nil || !onServer {
				return err
			}
			return stored.Choose(c)
		}}
}

// cases makes the cases with msgs messages in one request, one for each peer.
func (r *route) cases(msgs int, database *lab.Service) (cases []lab.Case) {
	if msgs > 1 && msgs*r.Largest > largestRequest {
		return nil
	}
	kind := ""
	if r.Name != "" {
		kind = "msg=" + r.Name + "/"
	}
	what := r.One
	if msgs > 1 {
		what = fmt.Sprintf("%d %s in one request", msgs, r.Many)
	}
	for _, peer := range peers {
		way := what + ", from struct over TLS into " + peer.doc + ", and the receipt back"
		whole := r.newCase(fmt.Sprintf("Route/%smsgs=%d/peer=%s", kind, msgs, peer.name), msgs, peer.open)
		whole.Doc = "What does the way cost of " + way + "?"
		if peer.name == "sink" && msgs == 1 {
			whole.Headline, whole.First = true, r.first()
		}
		if peer.name == "postgres" {
			whole.Service = database
		}
		cases = append(cases, whole)
	}
	return cases
}

// spoken is a case as a person says it: "an order's way".
func (r *route) spoken(caseName string) string {
	keys := record.KeysOf(caseName)
	text := r.One + "'s way"
	if n := keys.Get("msgs"); n != "1" {
		text = n + " " + r.Many + "' way"
	}
	if peer := keys.Get("peer"); peer != "sink" {
		text += ", " + peer
	}
	return text
}

// first are the rows of a first look.
func (r *route) first() []string {
	base := r.usual(1)
	rows := base.parts()
	for _, change := range []way{{Codec: r.Best}, {Codec: r.Best, Call: "lib=pgbulk/call=exec"}, {Proto: "proto=http2"}} {
		if change = change.changed(base); change != (way{}) {
			rows = append(rows, change.name())
		}
	}
	return rows
}

// newCase has the ways, and their parts.
func (r *route) newCase(name string, msgs int, place opener) lab.Case {
	base := r.usual(msgs)
	c := lab.Case{Name: name, Baseline: base.name(), Value: record.ValueWall}
	add := func(row lab.Contender, w way, live []step) {
		if slices.ContainsFunc(c.Contenders, func(o lab.Contender) bool { return o.Name == row.Name }) {
			return
		}
		row.Settings = w.settings()
		if row.NotPossible = r.Lost[w.Codec]; row.NotPossible != "" {
			row.Checks = ""
		}
		row.Open = func(ctx context.Context, env lab.Env) (lab.Instance, error) {
			in, err := open(ctx, r.Traffic, work{w, msgs, env.Seed, live}, place)
			if err != nil {
				return nil, fmt.Errorf("route: %s: %w", row.Name, err)
			}
			return in, nil
		}
		c.Contenders = append(c.Contenders, row)
	}
	ways := []way{base}
	add(lab.Contender{Name: base.name(), OwnFloor: floorName, Checks: wholeChecks}, base, base.steps())
	for _, change := range r.changes(msgs) {
		w := change.in(base)
		ways = append(ways, w)
		add(lab.Contender{Name: change.name(), OwnFloor: floorName, Checks: wholeChecks}, w, w.steps())
	}
	add(lab.Contender{Name: floorName, Floor: true, Checks: wholeChecks}, r.bare(), []step{stepStore})
	for _, w := range ways {
		for _, s := range w.steps() {
			add(lab.Contender{Name: w.part(s), Floor: true, Checks: partChecks[s]}, w.carrying(s), []step{s})
		}
	}
	return c
}

// partChecks say what a part's proof checks.
var partChecks = map[step]string{
	stepEncode:    "what was encoded has every field of the messages, and the receipt is theirs",
	stepPack:      "what was packed could be unpacked, and is as long as before, each time",
	stepSeal:      "what was sealed could be opened, and is as long as before, each time",
	stepTransport: "the answer is the prepared one, and the server received every byte by the protocol that the row names",
	stepDecode:    "every field was read: their sum is the messages', each time",
	stepStore:     wholeChecks[:strings.Index(wholeChecks, ";")],
}

// leastBatch is about what a hundred ways take, the fewest of a batch.
const leastBatch = 40 * time.Millisecond

// choose leaves out the parts of all ways but the usual one, unless a pattern names them. network puts the network that a run asks for under the others.
func (r *route) choose(c *lab.Choice, network func(*lab.Choice) error) error {
	parts := c.Resumed || slices.ContainsFunc(c.Patterns, func(p string) bool { return strings.Contains(p, "part=") || p == lab.All })
	rows := len(c.Entries)
	c.Entries = slices.DeleteFunc(c.Entries, func(e lab.Entry) bool {
		return !parts && isPart(e.Contender.Name) && !r.ofUsual(e.Case.Name, e.Contender.Name)
	})
	if len(c.Entries) < rows && len(c.Patterns) > 0 {
		c.Note = "route: with the parts of the baseline only; Route/part=* adds the others"
	}
	if len(c.Entries) == 0 {
		return nil
	}
	if err := network(c); err != nil {
		return err
	}
	for i, e := range c.Entries {
		if i == 0 || e.Case != c.Entries[i-1].Case {
			e.Case.Batch = max(leastBatch, manyOverNetwork*e.Case.Batch)
		}
	}
	return nil
}

// ofUsual says whether a row is a part of the case's baseline.
func (r *route) ofUsual(name, contender string) bool {
	return slices.Contains(r.usual(messages(name)).parts(), contender)
}
