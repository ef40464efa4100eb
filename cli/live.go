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

// screen draws a few lines on a terminal, again and again in the same place.
type screen struct {
	w     io.Writer
	live  bool // it is a terminal
	width int
	drawn int // lines on screen
	last  time.Time
}

func newScreen(w io.Writer) screen {
	s := screen{w: w, live: isTerminal(w), width: 80}
	if f, ok := w.(*os.File); ok && s.live {
		if width, _, err := term.GetSize(f.Fd()); err == nil && width > 0 {
			s.width = width
		}
	}
	return s
}

// draw replaces what is drawn.
func (s *screen) draw(lines ...string) {
	s.erase()
	for _, line := range lines {
		if runes := []rune(line); len(runes) >= s.width {
			line = string(runes[:s.width-1])
		}
		fmt.Fprintln(s.w, line)
	}
	s.drawn = len(lines)
}

// erase removes what is drawn.
func (s *screen) erase() {
	if s.drawn > 0 {
		fmt.Fprintf(s.w, "\x1b[%dA\x1b[J", s.drawn)
		s.drawn = 0
	}
}

func (s *screen) close() { s.erase() }

// bar draws a share, 0 to 1, as a bar.
func bar(share float64) string {
	const width = 24
	full := int(width * min(1, max(0, share)))
	return strings.Repeat("█", full) + strings.Repeat("░", width-full)
}

// redrawEvery is the shortest time between two drawings.
const redrawEvery = 200 * time.Millisecond

// lineEvery is how often a view that is not on a terminal prints a line at least.
const lineEvery = 15 * time.Second

// view shows on standard error how a run is going: a few lines that are redrawn on a terminal,
// otherwise one line for each case that is finished, and one whenever nothing was printed for some
// time.
//
// It draws when the conductor calls it, which is never during a batch, and has no goroutine of its
// own: a view with a clock would take time from what is measured.
type view struct{ screen }

func newView(w io.Writer) *view {
	v := &view{newScreen(w)}
	if !v.live {
		v.last = time.Now()
	}
	return v
}

func (v *view) observe(s lab.Status) {
	if s.Finished {
		v.erase()
		v.last = time.Now()
		fmt.Fprintf(v.w, "%s: %s, %s; %d of %d cases done, %v left\n",
			s.Case, words.Counted(s.Block, "block"), widthText(s.HalfWidth), s.CasesDone, s.Cases, s.Left.Round(time.Second))
		return
	}
	every := redrawEvery
	if !v.live {
		every = lineEvery
	}
	if time.Since(v.last) < every {
		return
	}
	v.last = time.Now()
	if !v.live {
		fmt.Fprintf(v.w, "%s: block %d, %s; %d of %d cases done, %v left\n", s.Case, s.Block, widthText(s.HalfWidth), s.CasesDone, s.Cases, s.Left.Round(time.Second))
		return
	}
	v.draw(
		fmt.Sprintf("%s  block %d, round %d of %d", s.Case, s.Block, s.Round, s.Rounds),
		"widest interval "+widthText(s.HalfWidth),
		fmt.Sprintf("%s %d of %d cases done, %v left", bar(used(s)), s.CasesDone, s.Cases, s.Left.Round(time.Second)))
}

func widthText(half float64) string {
	if math.IsInf(half, 1) {
		return "no interval yet"
	}
	return fmt.Sprintf("±%.1f%%", 100*half)
}

// used returns the share of the budget that is used up.
func used(s lab.Status) float64 {
	if total := s.Elapsed + s.Left; total > 0 {
		return s.Elapsed.Seconds() / total.Seconds()
	}
	return 0
}
