package show

import (
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"postage/internal/kit/report"
	"postage/internal/test/recordtest"
	"postage/internal/verdict"
	"postage/record"
)

// answersOf are a record's answers, by the case.
func answersOf(rec *record.Record) (map[string]answerView, []string) {
	all, remarks := answers(casesOf(verdict.Analyze(rec), stages))
	byCase := map[string]answerView{}
	for _, a := range all {
		byCase[a.Pattern] = a
	}
	return byCase, remarks
}

// A winner that departs from a standard is in the remark alone, which names the quantity.
func TestAnswersSayWhatDeparts(t *testing.T) {
	run := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 20}
	rec := run.Record()
	for i := range rec.Rows {
		rec.Rows[i].Value = record.ValueCost
		if rec.Rows[i].Contender == "codec=a" {
			rec.Rows[i].Properties = map[string]string{record.Departs: "RFC 1 (2), as it is short"}
		}
	}
	all, remarks := answersOf(rec)
	if a := all["Encode/msg=0/op=encode"]; a.Use != "b" || a.Instead != "base" || a.For != "one 0, encoded" {
		t.Errorf("%+v", a)
	}
	if want := "one 0, encoded: a is 1.67× cheaper still, but departs from RFC 1 (2), as it is short."; len(remarks) != 1 || remarks[0] != want {
		t.Errorf("%q, want %q", remarks, want)
	}
}

// The old versions of a run against a revision are in the plots, but cannot be chosen.
func TestOldSelvesAreNoChoice(t *testing.T) {
	run := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 10}
	rec := run.Record()
	recordtest.Against(rec, 0.2)
	if page := string(htmlOf(t, []NamedRun{{"a.txt", rec}})); !strings.Contains(page, "rev=abc1234") {
		t.Error("the page lacks the old rows")
	}
	if all, _ := answersOf(rec); all["Encode/msg=0/op=encode"].Use != "a" || all["Encode/msg=0/op=encode"].Or != "" {
		t.Errorf("%+v", all)
	}
}

// rough is the sample as a machine measures it that is busy: a faster contender that takes about as
// long as another, and one that may be as fast as the baseline, all with wide intervals.
func rough() *record.Record {
	const spread = 0.15 // the blocks' values, each of them
	rec := sample()
	rec.Rows, rec.Blocks = nil, nil
	rng := rand.New(rand.NewPCG(7, 7))
	add := func(c string, specs ...spec) { addCase(rec, rng, c, 6, specs...) }
	add("Encode/msg=order/op=encode", spec{"codec=protobuf", "baseline", "", 4700, 16}, spec{"codec=msgp", "contender", "", 660, 0},
		spec{"codec=pbfast", "contender", "", 700, 0}, spec{"codec=json", "contender", "", 5700, 9}, spec{"floor=memcpy", "floor", "", 20, 0})
	add("Seal/pad=none", spec{"lib=webpush-go", "baseline", "", 196_000, 229}, spec{"lib=webpush", "contender", "", 190_000, 12})
	for i := range rec.Blocks {
		for j := range rec.Blocks[i].Series {
			s, own := &rec.Blocks[i].Series[j], math.Exp(spread*rng.NormFloat64())
			for k, ns := range s.WallNS {
				s.CPUNS[k] = int64(float64(ns) * own)
				s.WallNS[k] = int64(1.4 * float64(s.CPUNS[k]))
			}
		}
	}
	for i := range rec.Rows {
		rec.Rows[i].Value = record.ValueCost
	}
	load := 4.31
	rec.Machine.Load, rec.Machine.Virtualised, rec.Machine.Counters = &load, "KVM", "not available (perf_event_open: permission denied)"
	return rec
}

// A rough run says what it advises, and what may be as good. What is shown is not named twice.
func TestAnswersOfARoughRun(t *testing.T) {
	all, _ := answersOf(rough())
	if a := all["Encode/msg=order/op=encode"]; a.Use != "msgp" || a.Instead != "protobuf" || a.Or != "pbfast" {
		t.Errorf("%+v", a)
	}
	if a := all["Seal/pad=none"]; a.Use != "webpush-go" || a.Instead != "webpush" || a.Or != "" {
		t.Errorf("%+v", a)
	}
}

// A contender is called by as few of its parts as tell it from the others.
func TestCalled(t *testing.T) {
	rec := &record.Record{}
	names := map[string]string{
		"lib=pgx/call=exec":                   "pgx/exec",
		"lib=pgx/call=copyfrom/data=own":      "pgx/copyfrom",
		"lib=pgbulk/call=exec":                "pgbulk/exec",
		"lib=pgbulk/upsert/strategy=auto":     "pgbulk/upsert",
		"lib=pq/call=exec":                    "pq",
		"lib=webpush/mode=strict/as=request":  "webpush/strict",
		"lib=webpush/mode=session/as=request": "webpush/session/request",
		"lib=webpush/mode=session/as=parts":   "webpush/parts",
		"lib=flat/alias=yes":                  "flat/alias=yes",
		"lib=flat":                            "flat",
		"plain":                               "plain",
	}
	for name := range names {
		role := record.RoleContender
		if name == "lib=pgx/call=exec" {
			role = record.RoleBaseline
		}
		rec.Rows = append(rec.Rows, record.Row{Name: "Case/" + name, Case: "Case", Contender: name, Role: role})
	}
	c := verdict.AnalyzeCase(rec, "Case")
	for name, want := range names {
		if got := called(c, c.Of(name)); got != want {
			t.Errorf("%s is called %s, want %s", name, got, want)
		}
	}
}

// The table fits in 80 columns, whatever the names, and each pattern is there as a whole.
func TestAnswersFit(t *testing.T) {
	rec, rng := &record.Record{}, rand.New(rand.NewPCG(7, 9))
	long := "Long/" + strings.Repeat("key=value/", 3) + "last=one"
	middles := []string{"Long/" + strings.Repeat("key=value/", 4) + "a=1/last=one", "Long/" + strings.Repeat("key=value/", 4) + "b=2/last=one"}
	for _, name := range append(middles, long, "Long/key=other", "Encode/msg=order/op=encode") {
		addCase(rec, rng, name, 10, spec{"lib=something-that-is-quite-long/call=and-more", "baseline", "", 1e5, 1},
			spec{"lib=something-that-is-quite-long/call=and-another", "contender", "", 0.9e5, 1}, spec{"lib=something-that-is-quite-long/call=third", "contender", "", 0.9e5, 1})
	}
	var b strings.Builder
	if err := Record(&b, rec, stages, report.Form{}); err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(b.String(), "\n\n")
	for line := range strings.Lines(table) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > report.TextWidth {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, pattern := range append(middles, long, "Encode/msg=order/op=encode") {
		if !strings.Contains(table, "\n  "+pattern) {
			t.Errorf("%s is not in\n%s", pattern, table)
		}
	}
}

// One line says what the record could show, by the stage where there are several.
func TestSight(t *testing.T) {
	for _, r := range []struct {
		rec  *record.Record
		want string
	}{
		{sample(), `^Smallest difference this run could show: [0-9.]+%\.$`},
		{rough(), `^Smallest difference this run could show: [0-9]+% \((seal|encode)\) to [0-9]+% \((seal|encode)\)\.$`},
		{&record.Record{}, `^$`},
	} {
		if got := sight(verdict.Analyze(r.rec), r.rec); !regexp.MustCompile(r.want).MatchString(got) {
			t.Errorf("%q, want %s", got, r.want)
		}
	}
}
