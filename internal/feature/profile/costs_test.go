package profile

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"postage/internal/verdict"
	"postage/record"
)

var costsOf = flag.String("costs", "", "write costs.txt anew, of these records, separated by commas; one that is + keeps the cases that are there")

// The shipped table has the contenders that the owners name, of several messages, and is read as it
// was written.
func TestShippedCosts(t *testing.T) {
	table := must(NewOwners())
	formats := table.formats()
	keep := func(contender string) bool { return formats[contender] != "" || contender == "pack=none" }
	if *costsOf != "" {
		writeCosts(t, keep)
		return
	}
	c := must(ShippedCosts(0))
	var out bytes.Buffer
	if err := c.write(&out, func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if !bytes.HasSuffix([]byte(shippedCosts), out.Bytes()) {
		t.Errorf("written again, it differs:\n%s", &out)
	}
	messages := map[string]int{}
	for _, one := range c.cases {
		for name := range one.rows {
			if one.of() == one.message {
				messages[one.stage+" "+one.does+" "+name]++
			}
		}
	}
	for _, want := range []string{"encode decode codec=json", "encode decode into=any/codec=json", "encode decode from=stream/codec=json", "encode decode from=stream/into=any/codec=go-json", "encode decode into=any/codec=json/experiment=jsonv2", "encode encode codec=json/experiment=jsonv2", "encode encode codec=protobuf", "encode decode codec=pbfast/hook=yes", "encode decode codec=pbfast", "encode encode from=any/codec=json", "encode encode from=any/codec=sonic/config=std", "encode encode pack=gzip/level=6", "encode decode pack=zstd/level=3", "apply decode as=json"} {
		if messages[want] < shippedLeast {
			t.Errorf("%s: of %d messages", want, messages[want])
		}
	}
}

// What the others of the shipped table predict of a message holds for that message, and has the wrong
// sign as rarely as an interval of 95% allows on one side of two.
func TestPredictionsHold(t *testing.T) {
	table, all := must(NewOwners()), must(ShippedCosts(0))
	tried, held, known, wrong := 0, 0, 0, 0
	for i, left := range all.cases {
		others := &Costs{cases: slices.DeleteFunc(slices.Clone(all.cases), func(one costCase) bool { return one.of() == left.of() }), least: shippedLeast}
		for now := range left.rows {
			saves := func(costs *Costs) map[string]verdict.Interval {
				whole := verdict.Interval{Value: 0.5, Low: 0.5, High: 0.5}
				s := &Summary{Sites: []Site{{Part: Part{Key: Key{Stage: left.stage, Does: left.does}, Share: whole}, Now: now}}}
				s.Predict(table, costs, false, 0)
				found := map[string]verdict.Interval{}
				for _, x := range s.Sites[0].Savings {
					found[x.Contender] = x.Saves
				}
				return found
			}
			predicted := saves(others)
			for contender, truth := range saves(&Costs{cases: all.cases[i : i+1], least: 1}) {
				x, ok := predicted[contender]
				if !ok || contender == uncompressed {
					continue
				}
				tried++
				if x.Low <= truth.Value && truth.Value <= x.High {
					held++
				}
				if x.Low > 0 || x.High < 0 {
					known++
				}
				if x.Low > 0 && truth.Value < -0.01 || x.High < 0 && truth.Value > 0.01 {
					wrong++
					t.Logf("%s %s: %s to %s: %v was predicted of %v", left.does, left.message, now, contender, x, truth.Value)
				}
			}
		}
	}
	if held*10 < tried*9 || known*3 < tried || wrong*40 > known {
		t.Errorf("of %d predictions %d hold, %d say a sign, %d of them wrongly", tried, held, known, wrong)
	}
}

// writeCosts writes the table anew, of records and of the texts.
func writeCosts(t *testing.T, keep func(contender string) bool) {
	all := &Costs{}
	add := func(cases []costCase) {
		for _, one := range cases {
			if len(one.rows) == 0 || strings.Contains(one.message, "slice=memory") { // which is about memory
				continue
			}
			if at := slices.IndexFunc(all.cases, func(c costCase) bool { return c.message == one.message && c.does == one.does }); at >= 0 {
				maps.Copy(all.cases[at].rows, one.rows)
			} else {
				all.cases = append(all.cases, one)
			}
		}
	}
	for _, name := range strings.Split(*costsOf, ",") {
		var more *Costs
		var err error
		if name == "+" {
			var file *os.File
			if file, err = os.Open("costs.txt"); err == nil { // not what was embedded: two builds write in turn
				more, err = readCosts(file)
				_ = file.Close()
			}
		} else {
			var rec *record.Record
			if rec, err = record.Load(name); err == nil {
				more = CostsOf(rec, "")
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		add(more.cases)
	}
	if onSecond(runtime.Version()) {
		add(jsonCosts(t, firstOnSecond))
	} else {
		add(textCosts(t))
		add(jsonCosts(t, "codec=json"))
	}
	var out bytes.Buffer
	out.WriteString("# Stage, what it does, message, contender, ns, bytes, size.\n")
	out.WriteString("# Written by: go test ./internal/feature/profile -run TestShippedCosts -costs RECORD,...\n")
	if err := all.write(&out, keep); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("costs.txt", out.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// The first version of encoding/json is another contender on the second one's code.
func TestOnSecond(t *testing.T) {
	for toolchain, want := range map[string]bool{"go1.26.8": false, "go1.26.8-X:jsonv2": true, "go1.27.0": true, "go1.27.1 X:nojsonv2,simd": false, "go1.26rc1 X:greenteagc,jsonv2": true} {
		if got := onSecond(toolchain); got != want {
			t.Errorf("%s: %t", toolchain, got)
		}
	}
}

// write writes what readCosts reads.
func (c *Costs) write(w io.Writer, keep func(contender string) bool) error {
	for _, one := range c.cases {
		var names []string
		for name := range one.rows {
			if keep(name) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			does := one.does
			if does == "" {
				does = "-"
			}
			x := one.rows[name]
			if _, err := fmt.Fprintf(w, "%s %s %s %s %.4g %.4g %.4g\n", one.stage, does, one.message, name, x.cost, x.bytes, x.size); err != nil {
				return err
			}
		}
	}
	return nil
}
