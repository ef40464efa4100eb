package route

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"postage/internal/stats"
	"postage/internal/verdict"
	"postage/record"
)

// A share is the mean of the blocks' values, as means add up, with its 95% interval, which is
// infinite of one block.
type share struct{ value, low, high float64 }

func newShare(values []float64) share {
	mean := stats.Moderated([][]float64{values}, nil, 0.05, 0.05)[0]
	return share{mean.Value, mean.Low, mean.High}
}

// told says whether it is sure that a share is more than 0, where there is more than one block.
func (s share) told() bool { return s.value > 0 && (s.low > 0 || math.IsInf(s.low, 0)) }

// percent prints a share of 1: "9% (8 to 10)".
func (s share) percent() string {
	if math.IsInf(s.low, 0) {
		return fmt.Sprintf("%.0f%% (no interval yet)", percents(s.value))
	}
	return fmt.Sprintf("%.0f%% (%.0f to %.0f)", percents(s.value), percents(s.low), percents(s.high))
}

// percents turns a share of 1 into whole percents, and -0 into 0.
func percents(x float64) float64 { return math.RoundToEven(100*x) + 0 }

// cpu is the mean CPU time in ns of an operation over a row's batches in a block: of the client, of
// the server and of the database's processes for its connection. ok is false where it is not known.
func cpu(block *record.Block, row *record.Row) (ns float64, ok bool) {
	if row == nil || !row.OK() {
		return 0, false
	}
	s := block.Of(row.Name)
	if s == nil || len(s.CPUNS) == 0 {
		return 0, false
	}
	known := 0
	for i, t := range s.CPUNS {
		if t == 0 { // not known
			continue
		}
		known++
		ns += float64(t)
		for _, unit := range []string{record.ServerCPU, databaseCPU} {
			if counts := s.Counters[unit]; i < len(counts) {
				ns += counts[i]
			}
		}
	}
	return ns / float64(known*row.N), known > 0
}

// A sum is what a case's blocks say of a way and of its parts.
type sum struct {
	blocks  []*record.Block
	rows    map[string]*record.Row // by contender
	control *record.Row            // the baseline again
}

func newSum(rec *record.Record, name string) *sum {
	s := &sum{rows: map[string]*record.Row{}}
	for i := range rec.Rows {
		if row := &rec.Rows[i]; row.Case == name {
			s.rows[row.Contender] = row
			if row.Role == record.RoleControl {
				s.control = row
			}
		}
	}
	for i := range rec.Blocks {
		if rec.Blocks[i].Case == name {
			s.blocks = append(s.blocks, &rec.Blocks[i])
		}
	}
	return s
}

// figure is a contender's CPU time in a block. The baseline's is measured twice, as the control:
// all shares are of it.
func (s *sum) figure(block *record.Block, contender string) (ns float64, ok bool) {
	row := s.rows[contender]
	ns, ok = cpu(block, row)
	if again, known := cpu(block, s.control); ok && known && row.Role == record.RoleBaseline {
		ns = (ns + again) / 2
	}
	return ns, ok
}

// terms are rows, and how often the CPU time of each counts.
type terms map[string]float64

func (t terms) add(n float64, others terms) terms {
	for row, m := range others {
		t[row] += n * m
	}
	return t
}

// shareOf is the sum of terms as a share of the row base, over the blocks. ok is false where there
// is no block with all of the rows.
func (s *sum) shareOf(base string, t terms) (_ share, ok bool) {
	var values []float64
blocks:
	for _, block := range s.blocks {
		whole, known := s.figure(block, base)
		if !known {
			continue
		}
		value := 0.0
		for row, n := range t {
			ns, known := s.figure(block, row)
			if !known {
				continue blocks
			}
			value += n * ns / whole
		}
		values = append(values, value)
	}
	if len(values) == 0 {
		return share{}, false
	}
	return newShare(values), true
}

// adds are the terms of what steps of a way add to its transport, which is one of them itself.
func (w way) adds(steps ...step) terms {
	t := terms{}
	for _, s := range steps {
		t[w.part(s)]++
		if s != stepTransport {
			t[w.carrying(s).part(stepTransport)]--
		}
	}
	return t
}

// parts are the rows of a way's parts.
func (w way) parts() (rows []string) {
	for _, s := range w.steps() {
		rows = append(rows, w.part(s))
	}
	return rows
}

// says is what a run says of a case first: where the baseline's CPU time goes, and then what each
// row saves of it, in the whole, and by what its parts alone foretell where they were measured.
func (r *route) says(rec *record.Record, c *verdict.CaseResult) (sentences []string) {
	s, base := newSum(rec, c.Name), r.usual(messages(c.Name))
	parts, ok := s.parts(base)
	if !ok {
		return sentences
	}
	sentences = append(sentences, r.way(messages(c.Name))+s.shares(base, parts))
	var saves, costs []string
	foretold := false
	for _, change := range r.changes(messages(c.Name)) {
		whole, text, known := s.saving(base, change)
		if text == "" || undecided(c, change) {
			continue
		}
		foretold = foretold || known
		list, verb, more := &saves, " saves ", ""
		if whole < 0 {
			list, verb, more = &costs, " costs ", " more"
		}
		if len(*list) > 0 {
			verb, more = " ", ""
		}
		*list = append(*list, change.inWords(base)+verb+text+more)
	}
	for _, list := range [][]string{saves, costs} {
		if len(list) > 0 {
			sentences = append(sentences, strings.Join(list, ", ")+".")
		}
	}
	if foretold {
		sentences = append(sentences, "In brackets: the 95% interval; and what the row's parts alone foretell.")
	}
	return sentences
}

// undecided reports whether the case's table does not say that a way is faster or slower.
func undecided(c *verdict.CaseResult, w way) bool {
	return slices.ContainsFunc(c.Rows, func(r *verdict.Result) bool {
		return r.Row.Contender == w.name() && r.Verdict != verdict.Faster && r.Verdict != verdict.Slower
	})
}

// inWords says what a way has in place of the usual: "pbfast for json".
func (w way) inWords(base way) string {
	var words []string
	for _, choice := range [][2]string{{w.Codec, base.Codec}, {w.Proto, base.Proto}, {w.Pack, ""}, {w.Call, base.Call}, {w.Column, "column=bytea"}} {
		if choice[0] == "" {
			continue
		}
		var values []string
		for part := range strings.SplitSeq(choice[0], "/") {
			values = append(values, value(part))
		}
		if choice[1] != "" {
			values = append(values, "for", value(choice[1][:strings.IndexByte(choice[1]+"/", '/')]))
		}
		words = append(words, strings.Join(values, " "))
	}
	return strings.Join(words, " with ")
}

// A part is a step of the baseline's way, and its share of the baseline's CPU time.
type part struct {
	step  step
	share float64
}

// parts are the parts of the baseline's way that certainly cost something. ok is false where a part
// was not measured.
func (s *sum) parts(base way) (parts []part, ok bool) {
	for _, step := range base.steps() {
		share, known := s.shareOf(base.name(), base.adds(step))
		if !known {
			return nil, false
		}
		if share.told() {
			parts = append(parts, part{step, share.value})
		}
	}
	return parts, true
}

// way is how a sentence about the way of so many messages begins.
func (r *route) way(msgs int) string {
	if msgs > 1 {
		return fmt.Sprintf("The way of %d %s", msgs, r.Many)
	}
	return strings.ToUpper(r.One[:1]) + r.One[1:] + "'s way"
}

// shares says what parts the baseline's CPU time has, the largest first, and what they are
// together.
func (s *sum) shares(base way, parts []part) string {
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(b.share, a.share) })
	var told []step
	var untold, said []string
	for _, step := range base.steps() {
		if slices.ContainsFunc(parts, func(p part) bool { return p.step == step }) {
			told = append(told, step)
		} else {
			untold = append(untold, string(step))
		}
	}
	if len(told) > 0 {
		all, _ := s.shareOf(base.name(), base.adds(told...))
		list := ""
		for _, p := range parts {
			list += fmt.Sprintf("%s %.0f%%, ", p.step, 100*p.share)
		}
		said = append(said, list+"together "+all.percent())
	}
	if len(untold) > 0 {
		said = append(said, strings.Join(untold, " and ")+" cannot be told from 0")
	}
	return fmt.Sprintf(" costs %.0f µs of CPU: %s.", s.mean(base.name())/1e3, strings.Join(said, "; "))
}

// mean is a row's CPU time over the blocks.
func (s *sum) mean(row string) float64 {
	var values []float64
	for _, block := range s.blocks {
		if ns, known := s.figure(block, row); known {
			values = append(values, ns)
		}
	}
	return newShare(values).value
}

// saving is how much of the baseline's CPU time a row saves in the whole, less than 0 for what it
// adds, and that in words, with what its parts foretell if they are known; "" if it is not sure
// which of the two.
func (s *sum) saving(base, change way) (whole float64, text string, foretold bool) {
	saved, ok := s.shareOf(base.name(), terms{base.name(): 1, change.name(): -1})
	if !ok || !(saved.low > 0 || saved.high < 0) || math.IsInf(saved.low, 0) {
		return 0, "", false
	}
	now := change.in(base)
	parts, foretold := s.shareOf(base.name(), base.adds(base.steps()...).add(-1, now.adds(now.steps()...)))
	whole = saved.value
	if whole < 0 {
		saved = share{-saved.value, -saved.high, -saved.low}
		parts.value = -parts.value
	}
	text = saved.percent()
	if foretold {
		text = strings.TrimSuffix(text, ")") + fmt.Sprintf("; %.0f%%)", percents(parts.value))
	}
	return whole, text, foretold
}

// messages is how many messages an operation of a case has.
func messages(name string) int {
	if record.KeysOf(name).Get("msgs") == "1" {
		return 1
	}
	return 100
}
