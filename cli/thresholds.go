package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"postage/internal/verdict"
)

// loadThresholds reads a file of thresholds, and takes the defaults for what it does not name. For
// "" all are the defaults.
func loadThresholds(name string, defaults verdict.Thresholds) (verdict.Thresholds, error) {
	if name == "" {
		return defaults, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return verdict.Thresholds{}, fmt.Errorf("--thresholds: %w", err)
	}
	limits, err := parseThresholds(text, defaults)
	if err != nil {
		return limits, hinted(fmt.Errorf("%s: %w", name, err), "such as `time: 5%`, `allocs: 0`, one a line")
	}
	return limits, nil
}

// parseThresholds reads thresholds from a YAML text such as
//
//	time: 5%
//	allocs: 0
//
// Those it does not name have their default. An unknown word is an error, so that a misspelt
// threshold is not ignored.
func parseThresholds(text []byte, defaults verdict.Thresholds) (verdict.Thresholds, error) {
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

// fraction is a percentage, or a number such as 0.05.
type fraction float64

// UnmarshalYAML reads it from a scalar.
func (f *fraction) UnmarshalYAML(node *yaml.Node) error {
	value, err := parsePercent(strings.TrimSpace(node.Value))
	if node.Kind != yaml.ScalarNode || err != nil || math.IsNaN(value) || value < 0 || value > 10 {
		return fmt.Errorf("line %d: want a percentage such as 5%%", node.Line)
	}
	*f = fraction(value)
	return nil
}

// parsePercent reads "5%" or "0.05".
func parsePercent(s string) (float64, error) {
	number, isPercent := strings.CutSuffix(s, "%")
	value, err := strconv.ParseFloat(number, 64)
	if isPercent {
		value /= 100
	}
	return value, err
}
