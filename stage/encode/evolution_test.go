package encode

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"postage/lab"
	"postage/stage/encode/internal/plain"
)

// What becomes of fields that only one of two programs knows, codec by codec: the table in
// docs/evolution.md.
//
// The old program has Notice. The new one has NoticeNew, with more fields in the message and in its
// parts. Each codec writes with the one and reads with the other. And the old program passes on to
// the new one what it read.
func TestEvolution(t *testing.T) {
	before, after := notices()
	older, newer := programs(kitOfNotice(), before), programs(kitOfNoticeNew(), after)
	var rows []string
	for i, old := range older {
		new := newer[i]
		fromNew, err := new.write()
		fromOld, fails := old.write()
		if old.name != new.name || err != nil || fails != nil {
			t.Fatalf("%s, %s: %v, %v", old.name, new.name, err, fails)
		}
		row := fmt.Sprintf("| `%s` | %s | %s | %s |", old.name,
			reads(old, fromNew, before), passes(old, new, after), reads(new, fromOld, grown(before)))
		if !slices.Contains(rows, row) {
			rows = append(rows, row)
		}
	}
	doc := filepath.Join("..", "..", "docs", "evolution.md")
	text, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Join(rows, "\n"); !strings.Contains(string(text), "|---|---|---|---|\n"+want+"\n\n") {
		t.Errorf("%s does not have these rows, and no others:\n%s", doc, want)
	}
}

// notices are a message of the old program, and one of the new one that has the same fields and
// more.
func notices() (before plain.Notice, after plain.NoticeNew) {
	before = plain.Notice{Serial: 7, Title: "sold", Part: plain.NoticePart{Name: "oak", Amount: 3},
		Parts: []plain.NoticePart{{Name: "elm", Amount: 1}, {Name: "ash", Amount: 2}}}
	after = grown(before)
	after.Note, after.Tags, after.Part.Unit = "urgent", []string{"a", "b"}, "kg"
	for i := range after.Parts {
		after.Parts[i].Unit = "t"
	}
	return before, after
}

// grown is an old program's message as the new one should see it: what was added is empty.
func grown(m plain.Notice) plain.NoticeNew {
	n := plain.NoticeNew{Serial: m.Serial, Title: m.Title, Part: plain.NoticeNewPart{Name: m.Part.Name, Amount: m.Part.Amount}}
	for _, part := range m.Parts {
		n.Parts = append(n.Parts, plain.NoticeNewPart{Name: part.Name, Amount: part.Amount})
	}
	return n
}

// A program has one message and one codec.
type program[M any] struct {
	name    string
	message M
	marshal func(*M) ([]byte, error) // by protobuf
	codec   carrier[M]
}

// programs are one for each codec.
func programs[M any](k kit[M], m M) (all []program[M]) {
	msg := &message[M]{}
	k.describe(msg)
	for _, c := range contenders(k, msg) {
		decodes := slices.ContainsFunc(c.rows(msg, opDecode), func(row lab.Contender) bool { return row.Open != nil && !row.Floor })
		if !decodes {
			continue
		}
		_, codec, err := c.carry([]M{m})
		if err != nil {
			panic(err)
		}
		all = append(all, program[M]{c.named(), m, k.marshal, codec})
	}
	return all
}

// write returns the program's message. For a codec that only decodes, protobuf writes it.
func (p *program[M]) write() ([]byte, error) {
	if p.codec.inProtobuf() {
		return p.marshal(&p.message)
	}
	data, err := p.codec.encode(0)
	return bytes.Clone(data), err
}

// reads says what a program makes of bytes in which it should find a message.
func reads[M any](p program[M], data []byte, want M) string {
	var got M
	switch err := recovered(func() error { return p.codec.plain(data, &got) }); {
	case isPanic(err):
		return "panics"
	case err != nil:
		return "refused"
	case diffOf(&got, &want) != "":
		return "**other values**"
	}
	return "read"
}

// passes says what the new program finds in its message when the old one has read it and written
// it again.
func passes(old program[plain.Notice], new program[plain.NoticeNew], want plain.NoticeNew) string {
	data, err := new.write()
	if err == nil {
		err = recovered(func() (err error) {
			data, err = old.codec.(interface{ again([]byte) ([]byte, error) }).again(data)
			return err
		})
	}
	var got plain.NoticeNew
	if err == nil {
		err = recovered(func() error { return new.codec.plain(data, &got) })
	}
	before, _ := notices()
	without := grown(before)
	switch {
	case errors.Is(err, errOnlyDecodes):
		return "cannot write"
	case err != nil:
		return "refused"
	case diffOf(&got, &want) == "":
		return "kept"
	case diffOf(&got, &without) == "":
		return "dropped"
	}
	return "**other values**"
}

var errOnlyDecodes = errors.New("the codec only decodes")

// again decodes bytes and encodes the value that came of them.
func (c *carried[M, V]) again(data []byte) ([]byte, error) {
	if c.loops.encode == nil {
		return nil, errOnlyDecodes
	}
	if _, _, err := c.decode(data); err != nil {
		return nil, err
	}
	if c.codec.build { // the library's values cannot be encoded: the program copies what it knows
		if err := c.codec.form.To(c.in.last, &c.out.originals[0]); err != nil {
			return nil, err
		}
	} else {
		c.out.values = []*V{c.in.last}
	}
	return c.encode(0)
}
