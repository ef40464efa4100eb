package loadpage

import (
	"postage/internal/report"
)

import "io"

type (
	// Load is what `load` measured.
	Load struct {
		Version     int                 `json:"version"`
		Rate        *float64            `json:"rate"`
		Achieved    float64             `json:"achieved"`
		Seconds     float64             `json:"seconds"`
		Requests    int64               `json:"requests"`
		Failed      int64               `json:"failed"`
		Errors      map[string]int64    `json:"errors"`
		Statuses    map[string]int64    `json:"statuses"`
		CPUSeconds  *float64            `json:"client_cpu_s"`
		Busy        *float64            `json:"client_busy"`
		Valid       bool                `json:"latency_valid"`
		Invalid     *string             `json:"latency_invalid"`
		Corrected   bool                `json:"latency_corrected"`
		LatencyNS   map[string]*float64 `json:"latency_ns"`
		LateP99NS   *float64            `json:"late_p99_ns"`
		Shortfall   *string             `json:"shortfall"`
		Interrupted bool                `json:"interrupted"`
		Unanswered  int64               `json:"unanswered"`
		NotSent     int64               `json:"not_sent"`

		MessagesSent     *int64              `json:"messages_sent"`
		MessagesReceived *int64              `json:"messages_received"`
		MessageLatencyNS map[string]*float64 `json:"message_latency_ns"`

		Server  *LoadServer  `json:"server"`
		Targets []LoadTarget `json:"targets"`
	}
	// LoadServer is what the server used during a load.
	LoadServer struct {
		CPUSeconds  float64  `json:"cpu_s"`
		Bytes       *float64 `json:"allocated_bytes"`
		Allocations *float64 `json:"allocations"`
		Collections *float64 `json:"collections"`
	}
	// LoadTarget is what was measured of one of several targets.
	LoadTarget struct {
		Name      string              `json:"name"`
		Rate      float64             `json:"rate"`
		Requests  int64               `json:"requests"`
		Failed    int64               `json:"failed"`
		LatencyNS map[string]*float64 `json:"latency_ns"`
	}
)

// JSON writes what a load generator measured.
func JSON(w io.Writer, l Load) error {
	l.Version = 2
	return report.WriteJSON(w, l)
}
