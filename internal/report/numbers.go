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

func times(x float64) string { return multiple(x) + "×" }

// multiple prints a factor to read, not to compute with.
func multiple(x float64) string {
	switch {
	case x >= 99.5:
		return words.Integer(int64(math.Round(x)))
	case x >= 9.95:
		return fmt.Sprintf("%.0f", x)
	case x >= 1.995:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// duration prints nanoseconds in the unit that suits them.
func duration(ns float64) string { return scaled(ns, "ns", "µs", "ms", "s") }

// scaled prints a number in the largest unit that it has one of. Each unit is a thousand of the one
// before.
func scaled(x float64, units ...string) string {
	i := 0
	for ; x >= 1e3 && i < len(units)-1; i++ {
		x /= 1e3
	}
	return brief(x) + " " + units[i]
}

// brief prints a number that is not negative with three significant digits, without
// exponent from 0.001 on.
func brief(x float64) string {
	x = tiesUp(x)
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

// tiesUp rounds numbers halfway between two decimals up, as JavaScript does and Go does not.
func tiesUp(x float64) float64 { return x * (1 + 1e-12) }

// figure prints a count, which may be a mean.
func figure(x float64) string {
	if x == math.Trunc(x) {
		return words.Integer(int64(x))
	}
	return grouped(x)
}

func percent(fraction float64) string { return fmt.Sprintf("%.4g%%", 100*fraction) }

func probability(p float64) string {
	if p < 0.001 {
		return "<0.001"
	}
	return fmt.Sprintf("%.3f", p)
}

// known is a figure's text, "n/a" if there is none.
func known[T any](x *T, text func(T) string) string {
	if x == nil {
		return "n/a"
	}
	return text(*x)
}

// fromTo prints a figure, and what it was if that was another.
func fromTo(was, is float64) string {
	if was == is {
		return figure(is)
	}
	return figure(was) + " → " + figure(is)
}

// and lists what there is: "a", "a and b", "a, b, and c".
func and(list []string) string {
	if len(list) < 3 {
		return strings.Join(list, " and ")
	}
	return strings.Join(list[:len(list)-1], ", ") + ", and " + list[len(list)-1]
}

// rounded is a number with so many significant digits.
func rounded(x float64, digits int) float64 {
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'e', digits-1, 64), 64) // it was a number
	return x
}
