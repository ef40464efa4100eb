package cli

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"

	"postage/internal/kit/words"
	"postage/lab"
)

// view shows on standard error how a run is going: a few lines that are redrawn in the same place
// on a terminal, otherwise one line for each case that is finished, and one whenever nothing was
// printed for some time.
//
// It draws when the conductor calls it, which is never during a batch, and has no goroutine of its
// own: a view with a clock would take time from what is measured.
type view struct {
	w     io.Writer
	live  bool // it is a terminal
	width int
	drawn int // lines on screen
	last  time.Time
}

func newView(w io.Writer) *view {
	v := &view{w: w, width: 80}
	f, ok := w.(*os.File)
	if v.live = ok && term.IsTerminal(f.Fd()) && os.Getenv("TERM") != "dumb"; !v.live {
		v.last = time.Now()
	} else if width, _, err := term.GetSize(f.Fd()); err == nil && width > 0 {
		v.width = width
	}
	return v
}

// draw replaces what is drawn.
func (v *view) draw(lines ...string) {
	v.erase()
	for _, line := range lines {
		if runes := []rune(line); len(runes) >= v.width {
			line = string(runes[:v.width-1])
		}
		fmt.Fprintln(v.w, line)
	}
	v.drawn = len(lines)
}

// erase removes what is drawn.
func (v *view) erase() {
	if v.drawn > 0 {
		fmt.Fprintf(v.w, "\x1b[%dA\x1b[J", v.drawn)
		v.drawn = 0
	}
}

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
	used := float64(s.Elapsed) / float64(max(1, s.Elapsed+s.Left)) // of the budget
	v.draw(
		fmt.Sprintf("%s  block %d, round %d of %d", s.Case, s.Block, s.Round, s.Rounds),
		"widest interval "+widthText(s.HalfWidth),
		fmt.Sprintf("%s %d of %d cases done, %v left", bar(used), s.CasesDone, s.Cases, s.Left.Round(time.Second)))
}

func widthText(half float64) string {
	if math.IsInf(half, 1) {
		return "no interval yet"
	}
	return fmt.Sprintf("±%.1f%%", 100*half)
}
