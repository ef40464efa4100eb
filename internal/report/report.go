// Package report presents records: as a table for a terminal, as Markdown, as JSON for
// programs, and as a page for a browser; and the same of comparisons of two records, with
// what CI reads of a gate (JUnit XML).
//
// Everything here is a pure function of a record: no clock, no network, no environment.
// What a figure needs to be read right travels with it: its interval, the control's,
// and the reason in place of figures where there is no proof.
package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"postage/internal/verdict"
	"postage/internal/words"
)

// grouped prints a number of at least 1000 with commas and no fraction, and a smaller
// one with four significant digits.
func grouped(x float64) string {
	if math.Abs(x) < 999.95 {
		decimals := 1
		for limit := 100.0; math.Abs(x) < limit && decimals < 4 && x != math.Trunc(x); limit /= 10 {
			decimals++
		}
		return strconv.FormatFloat(x, 'f', decimals, 64)
	}
	return words.Integer(int64(math.Round(x)))
}

// ratio prints a multiple with three significant digits.
func ratio(x float64) string {
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

// plusMinus is half the width of an interval as a percentage of its value.
func plusMinus(i *verdict.Interval) string {
	if math.IsInf(i.Low, 0) || math.IsInf(i.High, 0) {
		return "±?"
	}
	return fmt.Sprintf("±%.1f%%", 100*(i.High-i.Low)/2/i.Value)
}

// RatioText is a ratio with its interval.
func RatioText(i verdict.Interval) string { return spanned(i, ratio) }

// shortRatio is RatioText, shorter.
func shortRatio(i verdict.Interval) string { return strings.Replace(RatioText(i), " to ", "–", 1) }

// spanned prints a figure with its interval.
func spanned(i verdict.Interval, text func(float64) string) string {
	if !i.Bounded() {
		return text(i.Value) + " (no interval)"
	}
	return fmt.Sprintf("%s (%s to %s)", text(i.Value), text(i.Low), text(i.High))
}
