package cli

import (
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"postage/internal/kit/words"
	"postage/lab"
)

// view shows on standard error how a run is going: a line that is redrawn in the same place
// on a terminal, otherwise one line for each case that is finished, and one whenever nothing was
// printed for some time.
//
// It draws when the conductor calls it, which is never during a batch, and has no goroutine of its
// own: a view with a clock would take time from what is measured.
type view struct {
	w     io.Writer
	live  bool // it is a terminal
	width int
	drawn bool // a line is on screen
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

// draw replaces the line that is drawn.
func (v *view) draw(line string) {
	v.erase()
	fmt.Fprint(v.w, ansi.Truncate(line, v.width-1, "…"))
	v.drawn = true
}

// erase removes the line that is drawn.
func (v *view) erase() {
	if v.drawn {
		fmt.Fprint(v.w, "\r\x1b[K")
		v.drawn = false
	}
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
	line := fmt.Sprintf("%d of %d cases done, %v left; %s: block %d, %s", s.CasesDone, s.Cases, s.Left.Round(time.Second), s.Case, s.Block, widthText(s.HalfWidth))
	if !v.live {
		fmt.Fprintln(v.w, line)
		return
	}
	v.draw(line)
}

func widthText(half float64) string {
	if math.IsInf(half, 1) {
		return "no interval yet"
	}
	return fmt.Sprintf("±%.1f%%", 100*half)
}
