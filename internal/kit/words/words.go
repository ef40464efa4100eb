// Package words formats numbers and shortens long texts, in the same way everywhere.
package words

import (
	"strconv"
	"strings"
)

// Integer prints a whole number with commas.
func Integer(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}

// Counted is a number of things: "1 row", "2 batches".
func Counted(n int, word string) string {
	switch {
	case n == 1:
		return "1 " + word
	case strings.HasSuffix(word, "ch"):
		word += "e"
	}
	return Integer(int64(n)) + " " + word + "s"
}

// Abridged returns the first bytes of a text, in whole characters, and marks that it was cut.
func Abridged(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	return strings.ToValidUTF8(text[:bytes], "") + " …"
}
