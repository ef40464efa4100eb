package webpush

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
)

// writeRedacted is the body of every Format method here: for every verb and flag it prints only the
// safe text.
func writeRedacted(f fmt.State, text string) {
	io.WriteString(f, text) //nolint:errcheck // fmt.State has nowhere to report it
}

// cleanText makes a stranger's text fit for an error: printable, on one line, at most
// maxReasonBytes. From where it quotes the endpoint beyond its origin, or the token, it is
// withheld.
func cleanText(text string, sub Subscription, authorization string) string {
	if text == "" {
		return ""
	}
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) { // line ends, and what changes the direction of text, too
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	secret, _, _ := strings.Cut(strings.TrimPrefix(authorization, "vapid t="), ",")
	if !sub.IsZero() {
		secret += "\n" + sub.Endpoint()[sub.base.Value().pathAt:]
	}
	if at := quotedAt(text, secret); at >= 0 {
		text = text[:at] + "[withheld: the endpoint or the token, and what follows]"
	}
	if text = strings.TrimSpace(text); len(text) > maxReasonBytes {
		text = strings.TrimSpace(strings.ToValidUTF8(text[:maxReasonBytes], ""))
	}
	return text
}

// toldLetters is how many letters and digits of a secret in a row are no longer told.
const toldLetters = 8

// quotedAt is where text first has toldLetters letters and digits of secret in a row, or -1: whole
// or cut off, in either case, percent-encoded any number of times, escaped as in JSON, or with
// other characters in between.
func quotedAt(text, secret string) int {
	told, _ := lettersOf(secret)
	letters, at := lettersOf(text)
	var some [1 << 10]bool // by a hash of four letters that the secret has in a row: most texts have none
	hash := func(four []byte) uint32 { return binary.LittleEndian.Uint32(four) * 2654435769 >> 22 }
	for i := 0; i+4 <= len(told); i++ {
		some[hash(told[i:])] = true
	}
	for i := 0; i+toldLetters <= len(letters); i++ {
		if some[hash(letters[i:])] && some[hash(letters[i+4:])] && bytes.Contains(told, letters[i:i+toldLetters]) {
			return at[i]
		}
	}
	return -1
}

// lettersOf gives the letters and digits of a text, unescaped and in lower case, and where they
// are.
func lettersOf(text string) (letters []byte, at []int) {
	letters, at = make([]byte, 0, len(text)), make([]int, 0, len(text))
	for i := 0; i < len(text); {
		c, end := unescape(text, i)
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' {
			letters, at = append(letters, c), append(at, i)
		}
		i = end
	}
	return letters, at
}

// unescape reads the character at i, and where it ends: as it stands, percent-encoded any number of
// times, or as JSON's \u00XX.
func unescape(text string, i int) (c byte, end int) {
	c, end = text[i], i+1
	for {
		digitsAt := end
		switch {
		case c == '%':
		case c == '\\' && strings.HasPrefix(text[end:], "u00"):
			digitsAt += len("u00")
		default:
			return c, end
		}
		if digitsAt+2 > len(text) {
			return c, end
		}
		n, err := strconv.ParseUint(text[digitsAt:digitsAt+2], 16, 8)
		if err != nil {
			return c, end
		}
		c, end = byte(n), digitsAt+2
	}
}
