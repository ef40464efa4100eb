package encode

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"postage/lab"
	"postage/stage/encode/internal/bind"
	"postage/stage/encode/internal/plain"
)

// What becomes of fields that only one of two programs knows, codec by codec: the table in
// docs/evolution.md.
//
// The old program has Notice. The new one has NoticeNew, with more fields in the message and in its
// parts. Each codec writes with the one and reads with the other. And the old program passes on to
// the new one what it read. What rows are declared as not possible is refused here, and the rest is
// not.
func TestEvolution(t *testing.T) {
	before := drawNotice(rand.New(rand.NewPCG(1, 0)))
	after := grown(&before)
	old, grew := versions()
	older, newer := contenders(kitOfNotice(), &old), contenders(kitOfNoticeNew(), &grew)
	var table []string
	for i, c := range older {
		rows := c.rows(&old, opDecode)
		if rows == nil || rows[0].Open == nil || rows[0].Floor {
			continue
		}
		fromNew, passed := reads(t, c, old.peer, before)
		fromOld, _ := reads(t, newer[i], grew.peer, after)
		declared(t, c.rows(&old, opNewer), fromNew, "read")
		declared(t, newer[i].rows(&grew, opOlder), fromOld, "read")
		declared(t, c.rows(&old, opForward), passed, fieldsKept, fieldsLost)
		passed, _, _ = strings.Cut(strings.Replace(passed, "lost", "dropped", 1), ":")
		row := fmt.Sprintf("| `%s` | %s | %s | %s |", c.named(), fromNew, passed, fromOld)
		if !slices.Contains(table, row) {
			table = append(table, row)
		}
	}
	doc := filepath.Join("..", "..", "docs", "evolution.md")
	text, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Join(table, "\n"); !strings.Contains(string(text), "|---|---|---|---|\n"+want+"\n\n") {
		t.Errorf("%s does not have these rows, and no others:\n%s", doc, want)
	}
}

// reads says what a program makes of a message of its peer's, in which it should find m, and what
// the peer finds when that is passed on.
func reads[M any](t *testing.T, c contender[M], peerOf func(string, []M) (*peer, error), m M) (read, passed string) {
	codec, err := c.carry([]M{m})
	if err != nil {
		t.Fatal(err)
	}
	p, err := peerOf(c.named(), []M{m})
	if err != nil {
		t.Fatal(err)
	}
	var got M
	err = recovered(func() error { return codec.plain(p.inputs[0], &got) })
	switch {
	case isPanic(err):
		return "panics", "panics"
	case err != nil:
		return "refused", "refused"
	case diffOf(&got, &m) != "":
		return "**other values**", "**other values**"
	}
	data, err := codec.(interface{ again([]byte) ([]byte, error) }).again(p.inputs[0])
	switch {
	case err != nil:
		return "read", "refused"
	case data == nil:
		return "read", "cannot write"
	}
	if passed, err = p.finds(0, data); err != nil {
		return "read", "**" + err.Error() + "**"
	}
	return "read", passed
}

// again passes bytes on, nil for a codec that only decodes.
func (c *carried[M, V]) again(data []byte) ([]byte, error) {
	if c.loops.encode == nil {
		return nil, nil
	}
	c.in.next, c.in.inputs[0] = 0, data
	err := c.codec.again(c.loops)(&c.in, 1)
	return c.in.out, err
}

// declared checks that a row is possible if the outcome is one of those, and that its properties
// say which if they say anything of it.
func declared(t *testing.T, rows []lab.Contender, outcome string, possible ...string) {
	t.Helper()
	row := rows[len(rows)-1]
	if want := slices.Contains(possible, outcome); want != (row.NotPossible == "") {
		t.Errorf("%s: %s: possible: %v: %s", row.Name, outcome, !want, row.NotPossible)
	}
	if word, ok := row.Properties["added-fields"]; ok && word != outcome {
		t.Errorf("%s: %s is declared as %s", row.Name, outcome, word)
	}
}

// A row that passes on less than it declares, something else, or nothing new, has no figure.
func TestForwardProves(t *testing.T) {
	type forwarding = instance[plain.Notice, plain.Notice]
	type notice = plain.Notice
	for want, change := range map[string]func(*forwarding){
		"":                                func(*forwarding) {},
		`declared "kept", but are "lost:`: func(in *forwarding) { in.codec.keeps = true },
		"NoticeNew.Title: got":            func(in *forwarding) { in.run.use = func(v, _ *notice) (uint64, error) { v.Title = "x"; return 0, nil } },
		"fields read sum up to 0":         func(in *forwarding) { in.run.use = func(*notice, *notice) (uint64, error) { return 0, nil } },
		"what was passed on: ":            func(in *forwarding) { in.loop = in.loops.decode },
	} {
		old, _ := versions()
		in, err := newInstance(jsonStd(bind.Notice().Plain, true).(*codec[notice, notice]), &old, opForward, 1)
		if err != nil {
			t.Fatal(err)
		}
		change(in)
		if err := in.Prove(t.Context()); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
