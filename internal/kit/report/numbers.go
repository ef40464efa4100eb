package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"postage/internal/kit/words"
	"postage/internal/verdict"
)

// Grouped prints a number of at least 1000 with commas and no fraction, and a smaller
// one with four significant digits.
func Grouped(x float64) string {
	if math.Abs(x) < 999.95 {
		decimals := 1
		for limit := 100.0; math.Abs(x) < limit && decimals < 4 && x != math.Trunc(x); limit /= 10 {
			decimals++
		}
		return strconv.FormatFloat(x, 'f', decimals, 64)
	}
	return words.Integer(int64(math.Round(x)))
}

// Ratio prints a multiple with three significant digits.
func Ratio(x float64) string {
	switch {
	case math.IsInf(x, 0) || math.IsNaN(x):
		return "?"
	case x >= 99.5:
		return words.Integer(int64(math.Round(x)))
	case x >= 9.95:
		return fmt.Sprintf("%.1f", x)
	case x >= 0.0995:
		// Near 1 a third decimal tells what a percent hides.
		return fmt.Sprintf("%.3f", x)
	}
	decimals := 4
	for limit := 0.00995; x < limit && decimals < 9; limit /= 10 {
		decimals++
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// PlusMinus prints half an interval's width as a percentage of its value.
func PlusMinus(i *verdict.Interval) string {
	if math.IsInf(i.Low, 0) || math.IsInf(i.High, 0) {
		return "±?"
	}
	return fmt.Sprintf("±%.1f%%", 100*(i.High-i.Low)/2/i.Value)
}

// RatioText prints a ratio with its interval: "1.20 (1.10 to 1.30)".
func RatioText(i verdict.Interval) string { return Interval(i, Ratio) }

// Interval prints an interval of numbers that text prints.
func Interval(i verdict.Interval, text func(float64) string) string {
	if !i.Bounded() {
		return text(i.Value) + " (no interval)"
	}
	return fmt.Sprintf("%s (%s to %s)", text(i.Value), text(i.Low), text(i.High))
}

// ShortRatio prints a ratio with its interval: "1.20 (1.10–1.30)".
func ShortRatio(i verdict.Interval) string { return strings.Replace(RatioText(i), " to ", "–", 1) }

// Times prints a factor: "3.4×".
func Times(x float64) string { return Multiple(x) + "×" }

// Multiple prints a factor to read, not to compute with.
func Multiple(x float64) string {
	switch {
	case x >= 9.95:
		return words.Integer(int64(math.Round(x)))
	case x >= 1.995:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// Duration prints nanoseconds in the largest unit in which they are at least 1.
func Duration(ns float64) string {
	units := []string{"ns", "µs", "ms", "s"}
	for ns >= 1e3 && len(units) > 1 {
		ns /= 1e3
		units = units[1:]
	}
	return Brief(ns) + " " + units[0]
}

// Brief prints a number that is not negative with three significant digits, without
// exponent from 0.001 on.
func Brief(x float64) string {
	decimals := 0
	for limit := 99.95; x < limit && decimals < 5; limit /= 10 {
		decimals++
	}
	text := strconv.FormatFloat(x, 'f', decimals, 64)
	if decimals > 0 {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// Count prints a count, which may be a mean.
func Count(x float64) string {
	if x == math.Trunc(x) {
		return words.Integer(int64(x))
	}
	return Grouped(x)
}

// Percent prints a fraction as a percentage.
func Percent(fraction float64) string { return fmt.Sprintf("%.4g%%", 100*fraction) }

// Probability prints a p-value.
func Probability(p float64) string {
	if p < 0.001 {
		return "<0.001"
	}
	return fmt.Sprintf("%.3f", p)
}

// Known is a figure's text, "n/a" if there is none.
func Known[T any](x *T, text func(T) string) string {
	if x == nil {
		return "n/a"
	}
	return text(*x)
}

// FromTo prints a figure, and what it was if that was another.
func FromTo(was, is float64) string {
	if was == is {
		return Count(is)
	}
	return Count(was) + " → " + Count(is)
}

// Rounded rounds a number to so many significant digits.
func Rounded(x float64, digits int) float64 {
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'e', digits-1, 64), 64) // it was a number
	return x
}
