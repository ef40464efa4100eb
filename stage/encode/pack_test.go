package encode

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"postage/lab"
	"postage/stage/encode/internal/bind"
	"postage/stage/encode/internal/plain"
)

// orders returns a packing of orders as JSON, by the compression of that name.
func packedOrders(t *testing.T, how string, change func(*message[plain.Order])) (*packing[plain.Order, plain.Order], error) {
	k := bind.Order()
	msg := &message[plain.Order]{name: "order", draw: drawOrder, count: 64, diff: differences(k.Plain), read: k.Plain.Read}
	if change != nil {
		change(msg)
	}
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
		"pack=zstd/level=1": "zstd", "pack=zstd/level=3": "zstd", "pack=zstd/level=3/dictionary=trained": "zstd", "pack=lz4": "lz4",
	} {
		t.Run(how, func(t *testing.T) {
			if _, err := exec.LookPath(program); err != nil {
				t.Skip(program + " is not installed")
			}
			p, err := packedOrders(t, how, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Run(3); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(program, "-d", "-c")
			if p.dictionary != nil {
				file := filepath.Join(t.TempDir(), "dictionary")
				if err := os.WriteFile(file, p.dictionary, 0o600); err != nil {
					t.Fatal(err)
				}
				cmd.Args = append(cmd.Args, "-D", file)
			}
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

// Dictionaries are the same in every process, and make packed messages smaller.
func TestDictionary(t *testing.T) {
	size := map[string]float64{}
	var dictionary []byte
	for _, how := range []string{"pack=zstd/level=3", "pack=zstd/level=3/dictionary=trained", "pack=zstd/level=3/dictionary=trained"} {
		p, err := packedOrders(t, how, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Prove(t.Context()); err != nil {
			t.Fatal(err)
		}
		if dictionary != nil && !bytes.Equal(p.dictionary, dictionary) {
			t.Error("the same messages make another dictionary")
		}
		dictionary, size[how] = p.dictionary, p.wireBytes
	}
	if without, with := size["pack=zstd/level=3"], size["pack=zstd/level=3/dictionary=trained"]; with > 0.7*without {
		t.Errorf("a message takes %.0f bytes with a dictionary, %.0f without", with, without)
	}
}

// No measured message was used to train a dictionary.
func TestHalvesAreApart(t *testing.T) {
	for n := 1; n < 40; n++ {
		msg := &message[int]{}
		for i := range n {
			msg.samples = append(msg.samples, i)
		}
		for msg.count = 1; msg.count < n && msg.count < 16; msg.count *= 2 {
		}
		measured, training := msg.halves(7)
		if k := len(measured); k == 0 || k&(k-1) != 0 {
			t.Errorf("of %d samples %d are measured: no power of two", n, k)
		}
		for _, m := range measured {
			if slices.Contains(training, m) {
				t.Errorf("of %d samples, %d is in both halves", n, m)
			}
		}
	}
}

// Without enough messages there is a reason instead of a dictionary.
func TestNoDictionary(t *testing.T) {
	const how = "pack=zstd/level=3/dictionary=trained"
	for name, change := range map[string]func(*message[plain.Order]){
		"one message": func(msg *message[plain.Order]) { msg.count = 1 },
		"two samples": func(msg *message[plain.Order]) {
			msg.samples, msg.count = []plain.Order{{Serial: 1}, {Serial: 2}}, 2
		},
		"one sample, often": func(msg *message[plain.Order]) { msg.samples, msg.count = make([]plain.Order, 64), 64 },
	} {
		if _, err := packedOrders(t, how, change); err == nil || !strings.Contains(err.Error(), "no dictionary: too few messages") {
			t.Errorf("%s: %v", name, err)
		}
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
		p, err := packedOrders(t, "pack=s2", nil)
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
