package verdict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Thresholds are by how much a row may be worse before it counts as regressed, as
// fractions: 0.05 is 5%.
type Thresholds struct {
	Time   float64 // ns/op
	Allocs float64 // allocs/op
	Bytes  float64 // B/op
	Size   float64 // the row's own figures, such as encoded-bytes
	// Instructions is for instructions/op, where the machine counts them.
	Instructions float64
	// Metrics are for figures that a benchmark reports itself, by unit: "hits/op". Others are not
	// gated.
	Metrics map[string]float64
	// OrSeen raises the threshold of a row's time to the smallest change that could be seen, at
	// most 10%. It is for a gate without a threshold of time.
	OrSeen bool
}

// MostSeen is the greatest threshold that OrSeen sets. Counts whose tolerance is greater are
// inconclusive.
const MostSeen = 0.10

// DefaultThresholds are the thresholds of a gate if the user sets none.
func DefaultThresholds() Thresholds { return Thresholds{Time: 0.03, Instructions: 0.03, OrSeen: true} }

// ParseThresholds reads thresholds from a YAML text such as
//
//	time: 5%
//	allocs: 0
//
// Those it does not name have their default. An unknown word is an error, so that a misspelt
// threshold is not ignored.
func ParseThresholds(text []byte, defaults Thresholds) (Thresholds, error) {
	file := struct {
		Time                              *fraction
		Allocs, Bytes, Size, Instructions fraction
		Metrics                           map[string]fraction
	}{nil, fraction(defaults.Allocs), fraction(defaults.Bytes), fraction(defaults.Size), fraction(defaults.Instructions), nil}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return defaults, fmt.Errorf("thresholds: want time, allocs, bytes, size, instructions and metrics, each a percentage: %w", err)
	}
	limits := defaults
	limits.Allocs, limits.Bytes, limits.Size, limits.Instructions = float64(file.Allocs), float64(file.Bytes), float64(file.Size), float64(file.Instructions)
	for unit, limit := range file.Metrics {
		if limits.Metrics == nil {
			limits.Metrics = map[string]float64{}
		}
		limits.Metrics[unit] = float64(limit)
	}
	if file.Time != nil {
		if *file.Time == 0 {
			return defaults, errors.New("thresholds: time: must be above 0%: no interval is below a threshold of 0%")
		}
		limits.Time, limits.OrSeen = float64(*file.Time), false
	}
	return limits, nil
}

// fraction is a number such as 5%, 0.05 or 0.
type fraction float64

// UnmarshalYAML reads it from a scalar.
func (f *fraction) UnmarshalYAML(node *yaml.Node) error {
	number, isPercent := strings.CutSuffix(strings.TrimSpace(node.Value), "%")
	value, err := strconv.ParseFloat(number, 64)
	if isPercent {
		value /= 100
	}
	if node.Kind != yaml.ScalarNode || err != nil || math.IsNaN(value) || value < 0 || value > 10 {
		return fmt.Errorf("line %d: want a percentage such as 5%%", node.Line)
	}
	*f = fraction(value)
	return nil
}
