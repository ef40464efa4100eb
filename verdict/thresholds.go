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
}

// DefaultThresholds are those of a gate that is told none.
func DefaultThresholds() Thresholds { return Thresholds{Time: 0.05} }

// ParseThresholds reads thresholds from a YAML text such as
//
//	time: 5%
//	allocs: 0
//
// Those it does not name have their default. A word that is no threshold is an error,
// so that a misspelt one is not taken for none.
func ParseThresholds(text []byte) (Thresholds, error) {
	defaults := DefaultThresholds()
	file := struct{ Time, Allocs, Bytes, Size fraction }{
		fraction(defaults.Time), fraction(defaults.Allocs), fraction(defaults.Bytes), fraction(defaults.Size),
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return defaults, fmt.Errorf("thresholds: want time, allocs, bytes and size, each a percentage: %w", err)
	}
	if file.Time == 0 {
		return defaults, errors.New("thresholds: time: must be above 0%: no interval is below a threshold of 0%")
	}
	return Thresholds{float64(file.Time), float64(file.Allocs), float64(file.Bytes), float64(file.Size)}, nil
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
