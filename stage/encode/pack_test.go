package encode

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"postage/lab"
	"postage/stage/encode/internal/bind"
	"postage/stage/encode/internal/plain"
)

// orders returns a packing of orders as JSON, by the compression of that name.
func packedOrders(t *testing.T, how string) (*packing[plain.Order, plain.Order], error) {
	k := bind.Order()
	msg := &message[plain.Order]{name: "order", draw: drawOrder, count: 64, diff: differences(k.Plain), read: k.Plain.Read}
	at := slices.IndexFunc(compressions, func(c compression) bool { return c.name == how })
	if at < 0 {
		t.Fatalf("no %s", how)
	}
	return newPacking(jsonStd(k.Plain, true).(*codec[plain.Order, plain.Order]), msg, compressions[at], 1)
}

// The usual programs can read what is packed.
func TestPackedIsReadElsewhere(t *testing.T) {
	for how, program := range map[string]string{
		"pack=gzip/level=6": "gzip", "pack=gzip/level=6/library=klauspost": "gzip",
		"pack=zstd/level=1": "zstd", "pack=zstd/level=3": "zstd",
	} {
		t.Run(how, func(t *testing.T) {
			if _, err := exec.LookPath(program); err != nil {
				t.Skip(program + " is not installed")
			}
			p, err := packedOrders(t, how)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Run(3); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(program, "-d", "-c")
			cmd.Stdin, cmd.Stderr = bytes.NewReader(p.wire), os.Stderr
			got, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, p.in.run.out) {
				t.Errorf("%s reads %.60q, packed was %.60q", program, got, p.in.run.out)
			}
		})
	}
}

// A packing that loses a byte, or reads what it should have packed, fails its proof.
func TestPackProofSees(t *testing.T) {
	for name, spoil := range map[string]func(p *packer){
		"unpacked is something else": func(p *packer) {
			unpack := p.unpack
			p.unpack = func(dst, src []byte) ([]byte, error) {
				out, err := unpack(dst, src)
				out = bytes.Replace(out, []byte("ORD-"), []byte("ORE-"), 1)
				return out, err
			}
		},
		"nothing is packed": func(p *packer) {
			var kept []byte
			p.pack = func(dst, src []byte) ([]byte, error) { kept = src; return append(dst[:0], 0), nil }
			p.unpack = func(dst, src []byte) ([]byte, error) { return kept, nil }
		},
		"what is kept grows stale": func(p *packer) {
			var first []byte
			pack := p.pack
			p.pack = func(dst, src []byte) (_ []byte, err error) {
				if first == nil {
					first, err = pack(nil, src)
				}
				return first, err
			}
		},
	} {
		p, err := packedOrders(t, "pack=s2")
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Prove(t.Context()); err != nil {
			t.Fatal(err)
		}
		spoil(&p.packer)
		if err := p.Prove(t.Context()); err == nil {
			t.Errorf("%s: the proof does not see it", name)
		}
	}
}

// Packed messages are measured only if a pattern names them.
func TestChoose(t *testing.T) {
	entries := lab.Entries([]lab.Suite{Suite()})
	for pattern, want := range map[string]string{
		"":                                "others",
		"Encode/msg=order":                "others",
		"codec=json":                      "others",
		"Encode/op=pack":                  "packed",
		"Encode/msg=order/pack=zstd*":     "packed",
		"/pack:s2":                        "packed",
		lab.All:                           "others packed",
		"Encode/msg=order/op=pack,encode": "others packed",
	} {
		var patterns []string
		if pattern != "" {
			patterns = []string{pattern}
		}
		selected, err := lab.Select([]lab.Suite{Suite()}, patterns)
		if err != nil {
			t.Fatal(err)
		}
		choice := &lab.Choice{Entries: selected, Patterns: patterns}
		if err := leavePacked(choice); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range choice.Entries {
			kind := "others"
			if strings.Contains(e.Case.Name, "/op=pack/") {
				kind = "packed"
			}
			got = append(got, kind)
		}
		slices.Sort(got)
		if got := strings.Join(slices.Compact(got), " "); got != want {
			t.Errorf("%q measures %s, want %s", pattern, got, want)
		}
	}
	choice := &lab.Choice{Entries: slices.Clone(entries), Resumed: true}
	if err := leavePacked(choice); err != nil || len(choice.Entries) != len(entries) {
		t.Error("a run that is gone on with loses rows")
	}
}
