package cli

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"postage/internal/feature/build"
	"postage/internal/sys/machine"
	"postage/internal/verdict"
	"postage/lab"
	"postage/record"
)

// verdict's TestSameCodeRegressesNoMoreThanAllowed and TestSlowdownRegresses use simulated noise;
// this uses this machine's. In 30 real runs of 36 s each, old code is compared with the same code,
// with code in which one contender does 5% more, and with code that has one unrelated function
// more, in 8 function layouts and in the linker's own. It takes 25 minutes, so it runs only with
// POSTAGE_LONG=hours; docs/evidence/method.md has its figures for one machine. Nothing else may be
// running. go test -artifacts keeps the records.
func TestGateOnRealRuns(t *testing.T) {
	// Short tests find out, too, that there is no longer what it replaces.
	if text, err := os.ReadFile(filepath.Join(repository, "stage/encode/msgp.go")); err != nil || !strings.Contains(string(text), oneEncoding) {
		t.Fatalf("stage/encode/msgp.go has no %q: %v", oneEncoding, err)
	}
	if os.Getenv("POSTAGE_LONG") != "hours" {
		t.Skip("measures for 25 minutes: POSTAGE_LONG=hours, and -timeout 60m")
	}
	const slowed = "Encode/msg=order/op=encode/codec=msgp"
	r := &realRuns{T: t, kept: t.ArtifactDir(), source: filepath.Join(t.TempDir(), "source")}
	r.git("", "clone", "-q", "--shared", repository, r.source)
	base := r.commit("the code as it is", nil)
	t.Run("same", func(t *testing.T) {
		r.T = t
		same := 0
		for i := range 8 {
			same += r.regressed(r.gate(fmt.Sprintf("same%d", i), base, base, 8), "")
		}
		t.Logf("rows that regressed: %d in 8 runs", same)
		if same > 0 {
			t.Error("the same code regressed")
		}
	})
	t.Run("slower", func(t *testing.T) {
		r.T = t
		// msgp allocates nothing, so that its time alone tells. It takes as many messages from the
		// corpus as before, so that both sides work on the same messages.
		slow := r.commit("slower", func() {
			r.replace("stage/encode/msgp.go", oneEncoding, encodingMore)
			r.replace("stage/encode/msgp.go", "// msgPack is", "var turn int\n\n// msgPack is")
		})
		found, others := 0, 0
		for i := range 12 {
			c := r.gate(fmt.Sprintf("slow%d", i), base, slow, 8)
			found += r.regressed(c, slowed)
			others += r.regressed(c, "") - r.regressed(c, slowed)
		}
		t.Logf("rows that regressed: the slower one in %d of 12 runs, others %d", found, others)
		if found < 11 || others > 0 {
			t.Error("5% was not found, or found in others")
		}
	})
	t.Run("unrelated", func(t *testing.T) {
		r.T = t
		unrelated := map[int]int{}
		for i := range 5 {
			other := r.commit("unrelated", func() {
				r.git(r.source, "checkout", "-q", base)
				r.write("internal/kit/words/unrelated.go", unrelatedFunction(i))
			})
			for _, layouts := range []int{8, 1} {
				unrelated[layouts] += r.regressed(r.gate(fmt.Sprintf("unrelated%d-%d", i, layouts), base, other, layouts), "")
			}
		}
		t.Logf("rows that regressed: %d in 5 runs with 8 layouts, %d with the linker's", unrelated[8], unrelated[1])
		if unrelated[8] > 0 {
			t.Error("code that has one function more regressed")
		}
	})
	for layouts, intervals := range r.intervals {
		t.Logf("%s: of %d intervals of rows that did not change %d miss 1; they are off by %.2f%% (root mean square), half-width %.2f%%", layouts,
			intervals.rows, intervals.missed, 100*math.Sqrt(intervals.squares/float64(intervals.rows)), 100*intervals.widths/float64(intervals.rows))
	}
}

// msgp's encoding, and one that encodes every 19th message twice: in turn all of the corpus.
const (
	oneEncoding = `				for range n {
					if r.out, err = P(r.value()).MarshalMsg(r.out[:0]); err != nil {
						return err
					}
				}`
	encodingMore = `				for range n {
					m := P(r.value())
					if turn++; turn%19 == 0 {
						if r.out, err = m.MarshalMsg(r.out[:0]); err != nil {
							return err
						}
					}
					if r.out, err = m.MarshalMsg(r.out[:0]); err != nil {
						return err
					}
				}`
)

// unrelatedFunction is a file with a function that the linker keeps, of a size of its own, in a
// package that lies before most others in the program.
func unrelatedFunction(i int) string {
	return "package words\n\nimport \"os\"\n\nfunc init() {\n\tif len(os.Args) == 1<<20 {\n" + strings.Repeat("\t\tprintln(os.Args[0], os.Getpid())\n", 3+7*i) + "\t}\n}\n"
}

// realRuns measures commits against each other.
type realRuns struct {
	*testing.T
	source, kept string
	intervals    map[string]*struct {
		rows, missed    int
		squares, widths float64
	}
}

func (r *realRuns) git(folder string, args ...string) string {
	r.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *realRuns) write(name, text string) {
	r.Helper()
	if err := os.WriteFile(filepath.Join(r.source, name), []byte(text), 0o666); err != nil {
		r.Fatal(err)
	}
}

func (r *realRuns) replace(name, old, new string) {
	r.Helper()
	text, err := os.ReadFile(filepath.Join(r.source, name))
	if err != nil || !strings.Contains(string(text), old) {
		r.Fatalf("%s has no %q to replace: %v", name, old, err)
	}
	r.write(name, strings.Replace(string(text), old, new, 1))
}

// commit commits the changes that edit makes, and returns the commit.
func (r *realRuns) commit(message string, edit func()) string {
	r.Helper()
	if edit != nil {
		edit()
		r.git(r.source, "add", "-A")
		r.git(r.source, "-c", "user.name=test", "-c", "user.email=test@example.org", "commit", "-q", "-m", message)
	}
	return r.git(r.source, "rev-parse", "HEAD")
}

// gate measures one commit against another for 36 s, and compares them.
func (r *realRuns) gate(name, old, now string, layouts int) *verdict.Changes {
	r.Helper()
	begun := time.Now()
	var builds []*lab.Build
	for _, commit := range []string{old, now} {
		source, err := build.Revision(r.Context(), r.source, commit)
		if err != nil {
			r.Fatal(err)
		}
		b, err := (&build.Side{Source: source}).Build(r.Context(), build.Target{Package: "./cmd/postage"}, layouts, "worker")
		if err != nil {
			r.Fatal(err)
		}
		defer func() {
			if err := source.Close(); err != nil { // with the builds
				r.Error(err)
			}
		}()
		builds = append(builds, b)
	}
	took := time.Since(begun)
	entries, err := lab.Select(postage.suites, []string{"Encode/msg=order/op=encode/codec=json,msgp,cbor,vtprotobuf"})
	if err != nil {
		r.Fatal(err)
	}
	plan := lab.NewPlan(lab.Against(entries, builds[0], builds[1]), 36*time.Second)
	rec := lab.NewRecord(plan, record.Run{Seed: record.DefaultSeed, Precision: 0.005, Budget: 36 * time.Second}, machine.Read(0))
	conductor := &lab.Conductor{Command: builds[0].Commands[0], Save: func(rec *record.Record) error { return rec.Save(filepath.Join(r.kept, name+".txt")) }}
	if err := conductor.Run(r.Context(), plan.Entries, rec); err != nil {
		r.Fatal(err)
	}
	c := verdict.ComparePaired(rec, verdict.DefaultThresholds())
	kind := fmt.Sprintf("%s code, layouts: %d", map[bool]string{true: "the same", false: "other"}[old == now], layouts)
	r.Logf("%s: built in %v, %d blocks, %s", name, took.Round(time.Second), c.Rows[0].New.Blocks, c.Outcome())
	if r.intervals == nil {
		r.intervals = map[string]*struct {
			rows, missed    int
			squares, widths float64
		}{}
	}
	if r.intervals[kind] == nil {
		r.intervals[kind] = &struct {
			rows, missed    int
			squares, widths float64
		}{}
	}
	for _, row := range c.Rows {
		r.Logf("  %s %.4f (%.4f to %.4f), p %.4f, could be seen %.4f: %s", row.New.Row.Contender, row.Ratio.Value, row.Ratio.Low, row.Ratio.High, row.P, row.Seen, row.Outcome)
		if strings.HasPrefix(name, "slow") && row.New.Row.Contender == "codec=msgp" {
			continue
		}
		all := r.intervals[kind]
		all.rows++
		all.squares += math.Log(row.Ratio.Value) * math.Log(row.Ratio.Value)
		all.widths += math.Log(row.Ratio.High/row.Ratio.Low) / 2
		if row.Ratio.Low > 1 || row.Ratio.High < 1 {
			all.missed++
		}
	}
	return c
}

// regressed counts the rows that regressed: all, or those of the name if it is not "".
func (r *realRuns) regressed(c *verdict.Changes, name string) int {
	n := 0
	for _, row := range c.Rows {
		if row.Outcome == verdict.Regressed && (name == "" || name == row.New.Row.Name) {
			n++
		}
	}
	return n
}
