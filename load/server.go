package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/procfs"

	"postage/internal/sys/proc"
)

// A Server is asked how much it uses: the process PID with those that it started, or a server whose
// metrics for Prometheus are at the URL Metrics. 0 and "" are neither.
type Server struct {
	PID     int
	Metrics string
}

// ServerFigures are what a server has used since it began.
type ServerFigures struct {
	cpu                            time.Duration
	bytes, objects, collections    float64 // allocated, and of garbage; of Go programs only
	hasCPU, hasAllocs, hasGarbages bool
}

// ServerUse is what a server used during a load, nil for what it does not export.
type ServerUse struct {
	CPUSeconds  float64  `json:"cpu_s"`
	Bytes       *float64 `json:"allocated_bytes"`
	Allocations *float64 `json:"allocations"`
	Collections *float64 `json:"collections"`
}

// ParseServer reads a process's number, or a URL; "" for neither.
func ParseServer(text string) (s Server, err error) {
	if strings.Contains(text, "://") {
		return Server{Metrics: text}, nil
	}
	if text != "" {
		if s.PID, err = strconv.Atoi(text); err != nil || s.PID < 1 {
			return s, fmt.Errorf("%q: want the number of a process, or the URL of metrics", text)
		}
	}
	return s, nil
}

// Now reads the server's figures; zero if there is no server.
func (s *Server) Now(ctx context.Context) (figures ServerFigures, err error) {
	if s.Metrics != "" {
		if figures, err = scrapeServer(ctx, s.Metrics); err != nil {
			return figures, fmt.Errorf("--server: %w", err)
		}
	}
	if s.PID != 0 {
		if figures.cpu, err = treeCPU(s.PID); err != nil {
			return figures, fmt.Errorf("--server %d: %w", s.PID, err)
		}
		figures.hasCPU = true
	}
	return figures, nil
}

// ticks is how many units of /proc's times make a second.
const ticks = 100

// treeCPU returns the CPU time of a process and of those that it started. Ended ones count once their
// parents have waited for them.
func treeCPU(pid int) (sum time.Duration, err error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return 0, fmt.Errorf("give the URL of its metrics: %w", err)
	}
	known, children := map[int]procfs.ProcStat{}, map[int][]int{}
	for _, p := range all {
		if s, err := p.Stat(); err == nil { // else it has ended
			known[p.PID] = s
			children[s.PPID] = append(children[s.PPID], p.PID)
		}
	}
	if _, runs := known[pid]; !runs {
		return 0, errors.New("there is no such process")
	}
	for queue := []int{pid}; len(queue) > 0; queue = queue[1:] {
		s := known[queue[0]]
		own, err := proc.CPUOf(s.PID)
		if err != nil {
			own = time.Duration(s.UTime+s.STime) * time.Second / ticks
		}
		sum += own + time.Duration(s.CUTime+s.CSTime)*time.Second/ticks
		queue = append(queue, children[s.PID]...)
	}
	return sum, nil
}

// scrapeServer reads the metrics of a server in Prometheus' text format.
func scrapeServer(ctx context.Context, url string) (s ServerFigures, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return s, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return s, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return s, fmt.Errorf("%s: %s", url, response.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return s, fmt.Errorf("%s: %w", url, err)
	}
	value := func(name string) (v float64, ok bool) {
		for _, m := range families[name].GetMetric() {
			v += m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue() + float64(m.GetSummary().GetSampleCount())
			ok = true
		}
		return v, ok
	}
	seconds, ok := value("process_cpu_seconds_total")
	if !ok {
		return s, fmt.Errorf("%s has no process_cpu_seconds_total", url)
	}
	s.cpu, s.hasCPU = time.Duration(seconds*1e9), true
	s.bytes, s.hasAllocs = value("go_memstats_alloc_bytes_total")
	s.objects, _ = value("go_memstats_mallocs_total")
	s.collections, s.hasGarbages = value("go_gc_duration_seconds")
	return s, nil
}

// Since returns what a server used from an earlier moment on, nil where it is not known.
func (s *ServerFigures) Since(before *ServerFigures) *ServerUse {
	if !s.hasCPU {
		return nil
	}
	out := &ServerUse{CPUSeconds: (s.cpu - before.cpu).Seconds()}
	if s.hasAllocs {
		out.Bytes, out.Allocations = new(s.bytes-before.bytes), new(s.objects-before.objects)
	}
	if s.hasGarbages {
		out.Collections = new(s.collections - before.collections)
	}
	return out
}

// text says what a server used for each request, failures included.
func (s *ServerUse) text(r *Result) string {
	if s.CPUSeconds < 0 {
		return "CPU time n/a: it was started anew meanwhile"
	}
	n := float64(r.Done)
	text := fmt.Sprintf("%v of CPU time a request, %.0f%% of a processor", time.Duration(s.CPUSeconds/n*1e9).Round(10*time.Nanosecond), 100*s.CPUSeconds/max(r.Elapsed, time.Millisecond).Seconds())
	if s.Bytes != nil {
		text += fmt.Sprintf(", %.0f bytes in %.1f allocations a request", *s.Bytes/n, *s.Allocations/n)
	}
	if s.Collections != nil {
		text += fmt.Sprintf(", %.0f garbage collections", *s.Collections)
	}
	return text
}
