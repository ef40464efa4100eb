//go:build !benchonly

package cli

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"postage/load"
)

// loadSeconds shows and writes the results of a load, second by second.
type loadSeconds struct {
	began  time.Time
	live   *view
	csv    *csv.Writer
	hlog   *hdrhistogram.HistogramLogWriter
	export *loadExport // nil where none is
	files  []*os.File
	failed error
}

// openSeconds creates the files that are asked for.
func (f *loadFlags) openSeconds(stderr io.Writer) (*loadSeconds, error) {
	s := &loadSeconds{began: time.Now(), live: newView(stderr)}
	var err error
	create := func(flag, name string) (file *os.File) {
		if name != "" && err == nil {
			if file, err = os.Create(name); err != nil {
				err = fmt.Errorf("--%s: %w", flag, err)
			} else {
				s.files = append(s.files, file)
			}
		}
		return file
	}
	if file := create("csv", f.csv); file != nil {
		s.csv = csv.NewWriter(file)
		s.note(s.csv.Write([]string{"from_s", "to_s", "answers", "failed", "p50_ms", "p90_ms", "p99_ms", "max_ms", "generator_paused_ms"}))
	}
	if file := create("hdr-log", f.hlog); file != nil {
		s.hlog = hdrhistogram.NewHistogramLogWriter(file)
		s.note(s.hlog.OutputLogFormatVersion())
		s.note(s.hlog.OutputStartTime(s.began.UnixMilli()))
		s.note(s.hlog.OutputLegend())
	}
	if err == nil {
		s.export, err = openExport(f.prometheus)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *loadSeconds) wanted() bool {
	return s.live.live || s.csv != nil || s.hlog != nil || s.export != nil
}

func (s *loadSeconds) note(err error) {
	if s.failed == nil {
		s.failed = err
	}
}

// told adds a second.
func (s *loadSeconds) told(in load.Interval) {
	h := in.Latency
	if s.live.live {
		text := fmt.Sprintf("%.0fs %.0f/s, %d failed, p50 %s, p99 %s, max %s", in.To.Seconds(), float64(in.Done)/(in.To-in.From).Seconds(), in.Failed,
			short(h.ValueAtQuantile(50)), short(h.ValueAtQuantile(99)), short(h.Max()))
		if in.Paused > 0 {
			text += fmt.Sprintf(", paused %s", short(in.Paused.Microseconds()))
		}
		s.live.draw(text)
	}
	if s.export != nil {
		s.export.told(in)
	}
	if s.csv != nil {
		s.line(in)
	}
	if s.hlog != nil {
		h.SetStartTimeMs(s.began.Add(in.From).UnixMilli())
		h.SetEndTimeMs(s.began.Add(in.To).UnixMilli())
		if in.Paused > 0 {
			s.note(s.hlog.OutputComment(fmt.Sprintf("the generator did not run for %v of the next interval", in.Paused.Round(time.Millisecond))))
		}
		s.note(s.hlog.OutputIntervalHistogram(h))
	}
}

// short is a time of three digits at most, in microseconds to seconds.
func short(us int64) string {
	d := time.Duration(us) * time.Microsecond
	for unit := time.Second; unit >= time.Millisecond; unit /= 1000 {
		if d >= unit {
			return fmt.Sprintf("%.3g%s", float64(d)/float64(unit), strings.TrimPrefix(unit.String(), "1"))
		}
	}
	return fmt.Sprintf("%dµs", us)
}

// line writes one of the CSV.
func (s *loadSeconds) line(in load.Interval) {
	decimal := func(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) }
	line := []string{decimal(in.From.Seconds()), decimal(in.To.Seconds()), strconv.FormatInt(in.Done, 10), strconv.FormatInt(in.Failed, 10)}
	for _, us := range []int64{in.Latency.ValueAtQuantile(50), in.Latency.ValueAtQuantile(90), in.Latency.ValueAtQuantile(99), in.Latency.Max()} {
		text := "" // no answer came
		if in.Done > 0 {
			text = decimal(float64(us) / 1e3)
		}
		line = append(line, text)
	}
	s.note(s.csv.Write(append(line, decimal(in.Paused.Seconds()*1e3))))
	s.csv.Flush()
	s.note(s.csv.Error())
}

// close ends the files and returns what went wrong with them.
func (s *loadSeconds) close() error {
	s.live.erase()
	err := errors.Join(s.failed, s.export.close())
	for _, f := range s.files {
		err = errors.Join(err, f.Close())
	}
	return err
}
