package encode

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"postage/internal/usermsg"
	"postage/lab"
	"postage/record"
)

// A broughtConfig is the configuration of a brought message's program.
type broughtConfig struct{ usermsg.Config }

// broughtAs names the variable by which a program tells its workers which configuration it has read.
const broughtAs = "POSTAGE_BROUGHT"

// readBrought reads the file that `postage bring` wrote. Without it the program cannot run.
func readBrought(config string) broughtConfig {
	var brought broughtConfig
	data, err := os.ReadFile(config)
	if err == nil {
		err = json.Unmarshal(data, &brought)
	}
	digest := fmt.Sprintf("%s %x", config, sha256.Sum256(data))
	if parent := os.Getenv(broughtAs); strings.HasPrefix(parent, config+" ") && parent != digest && err == nil {
		err = errors.New("the message was brought again while this ran, with other samples or another --now")
	}
	if err == nil {
		err = os.Setenv(broughtAs, digest)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "postage: read the configuration of the brought message: %v\nhint: bring the message again\n", err)
		os.Exit(2)
	}
	return brought
}

// samples reads the file of samples, and checks that it has not changed.
func (brought *broughtConfig) samples() ([]byte, error) {
	file, err := os.ReadFile(brought.Samples)
	if err != nil {
		return nil, fmt.Errorf("samples: %w", err)
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(file)); got != brought.Digest {
		return nil, fmt.Errorf("samples: %s has changed since it was brought: bring the message again", brought.Samples)
	}
	return file, nil
}

// counted sets the size of the corpus from the number of samples.
func (msg *message[M]) counted() error {
	if len(msg.samples) == 0 {
		return errors.New("there are no samples")
	}
	for msg.count = 1; msg.count < len(msg.samples) && msg.count < 1024; msg.count *= 2 {
	}
	return nil
}

// suiteOf returns a brought message's cases, and the message for other stages. A row that loses a
// value of the samples says so.
func suiteOf[M any](msg *message[M], brought broughtConfig, rows []contender[M]) (lab.Suite, Traffic) {
	msg.name, msg.doc, msg.headline, msg.now = brought.Name, brought.Doc, true, brought.Baseline
	suite := lab.Suite{Stage: "encode", Doc: "Struct to bytes and back: which codec?", Figures: figures(), Choose: chooseBrought, Brought: true}
	rows = slices.DeleteFunc(rows, func(row contender[M]) bool { return row.named() == "codec=json/reuse=no" }) // codec=json is that
	suite.Cases = casesOf(msg, rows)
	for i := range suite.Cases {
		c := &suite.Cases[i]
		c.First = nil // the first look has all rows
		for j := range c.Contenders {
			brought.lose(c.Name, &c.Contenders[j])
		}
		c.Baseline = baselineOf(c, brought.Baseline, c.Baseline, "codec=json")
	}
	return suite, trafficOf(msg, brought, rows, suite.Cases)
}

// chooseBrought leaves out packed messages, kept buffers and kept values unless a pattern asks
// for them. Where the time does not
// suffice for all rows, and no pattern names any, it keeps the first look of postage's own messages.
func chooseBrought(c *lab.Choice) error {
	if err := leaveOut(c, opPack, opKept, opReuse); err != nil || c.Resumed || slices.ContainsFunc(c.Patterns, func(p string) bool { return p != "Encode" }) {
		return err
	}
	if rows, need := len(c.Entries), c.Needs(); c.Budget > 0 && need > c.Budget {
		c.Entries = slices.DeleteFunc(c.Entries, func(e lab.Entry) bool {
			return e.Role == record.RoleContender && !slices.Contains(firstLook, e.Contender.Name)
		})
		c.Note = strings.TrimPrefix(fmt.Sprintf("%s\nencode: %d of %d rows; all with --budget %v", c.Note, len(c.Entries), rows, need), "\n")
	}
	return nil
}

// trafficOf returns a brought message for other stages, with the codecs that encode and decode it.
func trafficOf[M any](msg *message[M], brought broughtConfig, rows []contender[M], cases []lab.Case) Traffic {
	t := Traffic{Name: msg.name, One: "the " + msg.name, Many: msg.name + " messages", Largest: brought.Largest, Lost: map[string]string{}}
	rowNames := map[op]map[string]bool{opEncode: {}, opDecode: {}}
	for _, c := range cases {
		names := rowNames[op(record.KeysOf(c.Name).Get("op"))]
		if names == nil {
			continue
		}
		for _, row := range c.Contenders {
			name := strings.TrimSuffix(row.Name, "/alias=yes")
			if names[name] = true; row.NotPossible != "" {
				t.Lost[name] = row.NotPossible
			}
		}
	}
	names := append(slices.Clone(families), brought.Baseline)
	for _, row := range rows {
		if name := row.named(); msg.foreign && (name == "codec=cbor" || name == "codec=msgpack" || strings.HasPrefix(name, "codec=own/")) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if rowNames[opEncode][name] && rowNames[opDecode][name] && !slices.Contains(t.Codecs, name) {
			t.Codecs = append(t.Codecs, name)
		}
	}
	first := func(names ...string) string {
		for _, name := range names {
			if slices.Contains(t.Codecs, name) && t.Lost[name] == "" {
				return name
			}
		}
		return "codec=json"
	}
	t.Usual = first(append([]string{brought.Baseline, "codec=json"}, t.Codecs...)...)
	t.Best = first("codec=pbfast", "codec=sonic/config=default", t.Usual)
	t.Open = func(codec, column string, seed uint64) (Messages, error) {
		if err := msg.prepare(); err != nil {
			return nil, err
		}
		// The server numbers the messages, because any field or none may be a key.
		whole := layout{types: []string{"int8", column}, row: func(i int, _ any, data []byte, row []any) error {
			row[0], row[1] = int64(i), data
			return nil
		}}
		m, err := openMail(msg, rows, codec, seed, whole)
		return &broughtMail[M]{mail: m}, err
	}
	return t
}

// A broughtMail carries a brought message. With every codec its receipts are two numbers.
type broughtMail[M any] struct {
	*mail[M]
	receipt [16]byte
}

func (b *broughtMail[M]) EncodeReceipt(sum uint64, messages int) ([]byte, error) {
	binary.BigEndian.PutUint64(b.receipt[:], sum)
	binary.BigEndian.PutUint64(b.receipt[8:], uint64(messages))
	return b.receipt[:], nil
}

func (b *broughtMail[M]) CheckReceipt(data []byte, sum uint64, messages int) error {
	if want, _ := b.EncodeReceipt(sum, messages); !bytes.Equal(data, want) {
		return fmt.Errorf("receipt: it is %x, want %x: the sum over every field, and the number of messages", data, want)
	}
	return nil
}

// lose marks a row as not possible if its proof lost a value of the samples.
func (brought *broughtConfig) lose(name string, c *lab.Contender) {
	row := name + "/" + c.Name
	why, lost := brought.Lost[row]
	if !lost {
		return
	}
	// The case names the operation, so only the message and the loss are kept.
	if at, what, found := strings.Cut(why, ": decoded to something else: "); found {
		why = "loses values: " + strings.TrimPrefix(at, string(opDecode)+": ") + ", " + what
	}
	why = strings.TrimPrefix(strings.TrimPrefix(why, "encode: "+brought.Name+": "), "open: ")
	c.NotPossible, c.Checks, c.Properties = why, "", nil
}

// baselineOf returns the first of the names whose row is possible, or else the first possible row:
// without a baseline no row can be measured.
func baselineOf(c *lab.Case, names ...string) string {
	first := ""
	for _, name := range names {
		for i := range c.Contenders {
			switch o := &c.Contenders[i]; {
			case o.NotPossible != "":
			case o.Name == name:
				return name
			case first == "" && !o.Floor:
				first = o.Name
			}
		}
	}
	return cmp.Or(first, c.Baseline)
}
