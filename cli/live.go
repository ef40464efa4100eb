package cli

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"

	"postage/internal/words"
	"postage/lab"
)

// view shows on standard error how a run goes: on a terminal a few lines that are
// redrawn, else a line for each case that is finished.
//
// It draws when the conductor tells it something, which is never during a batch, and
// has no goroutine of its own: a view with a clock would take time from what is
// measured.
type view struct {
	w     io.Writer
	live  bool
	width int
	drawn int // lines on screen
	last  time.Time
}

// redrawEvery is the shortest time between two drawings.
const redrawEvery = 200 * time.Millisecond

func newView(w io.Writer) *view {
	v := &view{w: w, live: isTerminal(w), width: 80}
	if f, ok := w.(*os.File); ok && v.live {
		if width, _, err := term.GetSize(f.Fd()); err == nil && width > 0 {
			v.width = width
		}
	}
	return v
}

func (v *view) observe(s lab.Status) {
	if s.Note != "" {
		v.erase()
		fmt.Fprintf(v.w, "postage: %s\n", s.Note)
		return
	}
	if s.Finished {
		v.erase()
		fmt.Fprintf(v.w, "%s: %s, %s; %d of %d cases done, %v left\n",
			s.Case, words.Counted(s.Block, "block"), widthText(s.HalfWidth), s.CasesDone, s.Cases, s.Left.Round(time.Second))
		return
	}
	if !v.live || time.Since(v.last) < redrawEvery {
		return
	}
	v.last = time.Now()
	lines := []string{
		fmt.Sprintf("%s  block %d, round %d of %d", s.Case, s.Block, s.Round, s.Rounds),
		"widest interval " + widthText(s.HalfWidth),
		fmt.Sprintf("%s %d of %d cases done, %v left", bar(s, 24), s.CasesDone, s.Cases, s.Left.Round(time.Second)),
	}
	v.erase()
	for _, line := range lines {
		if runes := []rune(line); len(runes) >= v.width {
			line = string(runes[:v.width-1])
		}
		fmt.Fprintln(v.w, line)
	}
	v.drawn = len(lines)
}

// erase takes away what is drawn.
func (v *view) erase() {
	if v.drawn > 0 {
		fmt.Fprintf(v.w, "\x1b[%dA\x1b[J", v.drawn)
		v.drawn = 0
	}
}

func (v *view) close() { v.erase() }

func widthText(half float64) string {
	if math.IsInf(half, 1) {
		return "no interval yet"
	}
	return fmt.Sprintf("±%.1f%%", 100*half)
}

// bar shows how much of the budget is used up.
func bar(s lab.Status, width int) string {
	full := 0
	if total := s.Elapsed + s.Left; total > 0 {
		full = int(float64(width) * s.Elapsed.Seconds() / total.Seconds())
	}
	return strings.Repeat("█", full) + strings.Repeat("░", width-full)
}
