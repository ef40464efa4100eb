package encode

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"postage/lab"
	"postage/stage/encode/internal/bind"
	"postage/stage/encode/internal/plain"
	"postage/stage/encode/internal/polymsg"
)

// Every row proves itself, then runs, and proves itself again: what a batch leaves is as correct as
// what the proof saw. With POSTAGE_LONG that is of two corpora, and of longer batches.
func TestEveryContenderProves(t *testing.T) {
	ctx := context.Background()
	seeds, batch := []uint64{1}, 5
	if os.Getenv("POSTAGE_LONG") != "" && !racing {
		seeds, batch = []uint64{1, 2026}, 100
	}
	for _, c := range Suite().Cases {
		t.Run(strings.TrimPrefix(c.Name, "Encode/"), func(t *testing.T) {
			for _, contender := range c.Contenders {
				t.Run(contender.Name, func(t *testing.T) {
					seeds := seeds
					if strings.Contains(c.Name, "/op=pack/") {
						if seeds = seeds[:1]; racing && !strings.HasPrefix(c.Name, "Encode/msg=order/") {
							t.Skip("takes long; orders are packed by the same code")
						}
					}
					if contender.NotPossible != "" {
						t.Skip("not possible: " + contender.NotPossible)
					}
					if racing && strings.HasPrefix(contender.Name, "codec=hyperpb") {
						t.Skip("hyperpb does not pass the race detector's pointer checks")
					}
					for _, seed := range seeds {
						in, err := contender.Open(ctx, lab.Env{Seed: seed})
						if err != nil {
							t.Fatal(err)
						}
						if err := in.Prove(ctx); err != nil {
							t.Fatalf("seed %d: %v", seed, err)
						}
						if err := in.Run(batch); err != nil {
							t.Fatalf("run: %v", err)
						}
						if err := in.Prove(ctx); err != nil {
							t.Fatalf("again, after a batch: %v", err)
						}
						if size := in.(lab.Metered).Metrics()["encoded-bytes"]; size <= 0 {
							t.Errorf("encoded-bytes = %v", size)
						}
						if err := in.Close(); err != nil {
							t.Fatal(err)
						}
					}
				})
			}
		})
	}
}

func TestRows(t *testing.T) {
	part := regexp.MustCompile(`^[a-z0-9-]+=[a-z0-9-]+$`)
	number := regexp.MustCompile(`-[0-9]+$`)
	for _, c := range Suite().Cases {
		var names []string
		real := 0
		for _, contender := range c.Contenders {
			names = append(names, contender.Name)
			for p := range strings.SplitSeq(contender.Name, "/") {
				if !part.MatchString(p) || number.MatchString(p) {
					t.Errorf("%s/%s: bad part %q", c.Name, contender.Name, p)
				}
			}
			if contender.NotPossible == "" && !contender.Floor {
				real++
				if contender.Checks == "" {
					t.Errorf("%s/%s says nothing of its proof", c.Name, contender.Name)
				}
			}
		}
		if !slices.Contains(names, c.Baseline) {
			t.Errorf("%s: no baseline %s", c.Name, c.Baseline)
		}
		if !slices.Contains(names, "floor=memcpy") && !strings.Contains(c.Name, "/op=pack/") && !strings.HasSuffix(c.Name, "/op=validate") {
			t.Errorf("%s: no memcpy floor", c.Name)
		}
		slices.Sort(names)
		if len(slices.Compact(slices.Clone(names))) != len(names) {
			t.Errorf("%s: a name is there twice: %q", c.Name, names)
		}
		want := 14
		for _, p := range publishedSuite() {
			if p.Name == c.Name {
				want = 4 // protobuf's libraries alone
			}
		}
		if (strings.HasSuffix(c.Name, "op=encode") || strings.HasSuffix(c.Name, "op=decode")) && real < want {
			t.Errorf("%s: %d contenders, want %d or more", c.Name, real, want)
		}
	}
}

// A proof sees one message, so it only fails if the damage is worse than declared. Over all
// messages, the declaration must be exact. Decoding shows it; the other operations that decode are
// tried with POSTAGE_LONG.
func TestDamageIsDeclaredExactly(t *testing.T) {
	ctx := context.Background()
	worst, declared := map[string]damage{}, map[string]string{}
	examples := map[string]string{}
	for _, c := range Suite().Cases {
		if !strings.HasSuffix(c.Name, "/op=decode") && os.Getenv("POSTAGE_LONG") == "" {
			continue
		}
		for _, contender := range c.Contenders {
			word, ok := contender.Properties["corrupted-input"]
			if !ok {
				continue
			}
			if word == damageUnbounded.String() || racing && strings.HasPrefix(contender.Name, "codec=hyperpb") {
				continue // see TestUnboundedMemoryIsUnbounded and racing
			}
			name, _, _ := strings.Cut(contender.Name, "/optional=")
			declared[name] = word
			in, err := contender.Open(ctx, lab.Env{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			seen, example, err := in.(interface {
				observeDamage(context.Context) (damage, string, error)
			}).observeDamage(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if seen > worst[name] {
				worst[name], examples[name] = seen, c.Name+": "+example
			}
		}
	}
	for name, word := range declared {
		if got := worst[name].String(); got != word {
			t.Errorf("%s declares %q, does %q: %s", name, word, got, examples[name])
		} else {
			t.Logf("%s: %s: %s", name, word, examples[name])
		}
	}
}

// A codec that declares unbounded memory allocates more than this test's process may, when it
// decodes changed bits.
func TestUnboundedMemoryIsUnbounded(t *testing.T) {
	const variable = "POSTAGE_TEST_UNBOUNDED"
	if racing {
		t.Skip("the race detector needs more memory than the test allows")
	}
	for name, observe := range map[string]func(t *testing.T) damage{
		"json": func(t *testing.T) damage { // the control
			k := kitOfBlob()
			return observeUnbounded(t, jsonStd(k.plain, true), drawBlob, k)
		},
		"msgpack": func(t *testing.T) damage {
			k := kitOfBlob()
			return observeUnbounded(t, msgPackReflect(k.plain), drawBlob, k)
		},
		"polyglot-go": func(t *testing.T) damage {
			// Its sizes have four bytes, and few of the changed bits are in them.
			in, err := polyglotGo(bind.Benchmark().Polyglot).(*codec[plain.Benchmark, polymsg.Benchmark]).start()
			if err != nil {
				t.Fatal(err)
			}
			message := drawBenchmark(nil)
			r := &run[plain.Benchmark, polymsg.Benchmark]{originals: []plain.Benchmark{message}, values: []*polymsg.Benchmark{bind.Benchmark().Polyglot.From(&message)}}
			if err := in.encode(r, 1); err != nil {
				t.Fatal(err)
			}
			size := bytes.Index(r.out, []byte{1, 3, 10, 0, 0, 0, 10}) // a slice of any kind, and a uint32: its parts
			r.out[size+3] = 0x7f
			r.inputs, r.use = [][]byte{r.out}, bind.Benchmark().Polyglot.Read
			before := allocated()
			t.Log(in.decode(r, 1))
			if allocated()-before > allocationLimit {
				return damageUnbounded
			}
			return damageRefused
		},
	} {
		t.Run(name, func(t *testing.T) {
			if os.Getenv(variable) != "" {
				limit := &syscall.Rlimit{Cur: 2 << 30, Max: 2 << 30}
				if err := syscall.Setrlimit(syscall.RLIMIT_AS, limit); err != nil {
					t.Fatal(err)
				}
				t.Fatalf("sees %s", observe(t))
			}
			cmd := exec.Command(os.Args[0], "-test.run=^TestUnboundedMemoryIsUnbounded$/^"+name+"$")
			cmd.Env = append(os.Environ(), variable+"=1")
			out, _ := cmd.CombinedOutput()
			unbounded := bytes.Contains(out, []byte("out of memory")) || bytes.Contains(out, []byte("sees unbounded-memory"))
			if want := name != "json"; unbounded != want {
				t.Errorf("memory is unbounded: %v, want %v:\n%s", unbounded, want, out)
			}
		})
	}
}

// A large message may take much memory: a decoder that takes forty times its size is not called
// unbounded.
func TestLargeMessagesTakeMemory(t *testing.T) {
	c, lib := honest()
	var taken []byte
	lib.decode = func(data []byte, v any) error {
		taken = make([]byte, 40*len(data))
		return json.Unmarshal(data, v)
	}
	msg := orderMessage()
	msg.draw = func(*rand.Rand) plain.Order { return plain.Order{Serial: 1, Note: strings.Repeat("é", 1<<20)} }
	in, err := newInstance(c, msg, opDecode, 1)
	if err != nil {
		t.Fatal(err)
	}
	seen, example, err := in.observeDamage(t.Context())
	if err != nil || seen == damageUnbounded || len(taken) <= allocationLimit {
		t.Errorf("%v: %s, %d bytes taken, %v", seen, example, len(taken), err)
	}
}

// observeUnbounded also decodes changed bits, which a proof does not.
func observeUnbounded[M any](t *testing.T, contender contender[M], draw func(*rand.Rand) M, k kit[M]) damage {
	c := contender.(*codec[M, M])
	c.damage = damagePanics
	msg := &message[M]{draw: draw, count: 1}
	k.describe(msg)
	in, err := newInstance(c, msg, opDecode, 1)
	if err != nil {
		t.Fatal(err)
	}
	seen, example, err := in.observeDamage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Log(example)
	return seen
}

// What a file declares for generated types is among the contenders, each once.
func TestEveryDeclarationIsListed(t *testing.T) {
	k := kitOfOrder()
	all := contenders(k, new(message[plain.Order]))
	for file, rows := range k.generated {
		for _, row := range rows {
			if at := slices.Index(all, row); at < 0 || slices.Contains(all[at+1:], row) {
				t.Errorf("%s.go: a row is not listed once in suite.go", file)
			}
		}
	}
	if len(k.generated) < 11 || len(all) < 29 {
		t.Errorf("%d files declare rows, there are %d", len(k.generated), len(all))
	}
}
