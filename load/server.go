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

// ServerFigures are what a server has used: cpu (ns), and if known bytes, allocs and collections.
type ServerFigures map[string]float64

// serverMetrics are the figures' names in Prometheus' text format.
var serverMetrics = map[string]string{
	"cpu":         "process_cpu_seconds_total",
	"bytes":       "go_memstats_alloc_bytes_total",
	"allocs":      "go_memstats_mallocs_total",
	"collections": "go_gc_duration_seconds",
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

// Now reads the server's figures; none if there is no server.
func (s *Server) Now(ctx context.Context) (ServerFigures, error) {
	figures := ServerFigures{}
	if s.Metrics != "" {
		if err := figures.scrape(ctx, s.Metrics); err != nil {
			return nil, fmt.Errorf("--server: %w", err)
		}
	}
	if s.PID != 0 {
		cpu, err := treeCPU(s.PID)
		if err != nil {
			return nil, fmt.Errorf("--server %d: %w", s.PID, err)
		}
		figures["cpu"] = float64(cpu.Nanoseconds())
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

func (s ServerFigures) scrape(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	for figure, name := range serverMetrics {
		for _, m := range families[name].GetMetric() {
			s[figure] += m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue() + float64(m.GetSummary().GetSampleCount())
		}
	}
	if _, known := s["cpu"]; !known {
		return fmt.Errorf("%s has no process_cpu_seconds_total", url)
	}
	s["cpu"] *= 1e9
	return nil
}

// Since returns what a server used from an earlier moment on; nil if nothing is known.
func (s ServerFigures) Since(before ServerFigures) ServerFigures {
	if len(s) == 0 {
		return nil
	}
	used := ServerFigures{}
	for name, n := range s {
		used[name] = n - before[name]
	}
	return used
}

// text says what a server used for each request, failures included.
func (s ServerFigures) text(r *Result) string {
	if s["cpu"] < 0 {
		return "CPU time n/a: it was started anew meanwhile"
	}
	n, cpu := float64(r.Done), time.Duration(s["cpu"])
	text := fmt.Sprintf("%v of CPU time a request, %.0f%% of a processor", time.Duration(s["cpu"]/n).Round(10*time.Nanosecond), 100*cpu.Seconds()/max(r.Elapsed, time.Millisecond).Seconds())
	if bytes, known := s["bytes"]; known {
		text += fmt.Sprintf(", %.0f bytes in %.1f allocations a request", bytes/n, s["allocs"]/n)
	}
	if collections, known := s["collections"]; known {
		text += fmt.Sprintf(", %.0f garbage collections", collections)
	}
	return text
}
