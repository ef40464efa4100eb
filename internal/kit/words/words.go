// Package words formats numbers and shortens long texts, in the same way everywhere.
package words

import (
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
)

// Integer prints a whole number with commas.
func Integer(n int64) string { return humanize.Comma(n) }

// Counted is a number of things: "1 row", "2 batches".
func Counted(n int, word string) string {
	return Integer(int64(n)) + " " + english.PluralWord(n, word, "")
}

// Abridged returns the first bytes of a text, in whole characters, and marks that it was cut.
func Abridged(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	return strings.ToValidUTF8(text[:bytes], "") + " …"
}
