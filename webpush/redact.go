package webpush

import (
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
// maxReasonBytes, without any part of the endpoint beyond its origin, or of the token.
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
	endpoint := sub.Endpoint()
	if !sub.IsZero() {
		text = cutOut(text, endpoint[sub.base.Value().pathAt:], "[endpoint]")
	}
	token, _, _ := strings.Cut(strings.TrimPrefix(authorization, "vapid t="), ",")
	text = strings.TrimSpace(cutOut(text, token, "[token]"))
	if len(text) > maxReasonBytes {
		text = strings.TrimSpace(strings.ToValidUTF8(text[:maxReasonBytes], ""))
	}
	return text
}

// toldLetters is how many letters and digits of a secret in a row are no longer told.
const toldLetters = 8

// cutOut replaces every part of secret in text, of toldLetters letters and digits or more: whole or
// cut off, in either case, percent-encoded any number of times, escaped as in JSON, or with other
// characters in between.
func cutOut(text, secret, name string) string {
	parts := make(map[string]struct{})
	letters, _ := lettersOf(secret)
	for i := 0; i+toldLetters <= len(letters); i++ {
		parts[string(letters[i:i+toldLetters])] = struct{}{}
	}
	letters, at := lettersOf(text)
	var b strings.Builder
	done := 0 // of text
	for i := 0; i+toldLetters <= len(letters); {
		if _, told := parts[string(letters[i:i+toldLetters])]; !told {
			i++
			continue
		}
		b.WriteString(text[done:max(at[i].from, done)])
		end := i + toldLetters
		for ; end < len(letters); end++ {
			if _, told := parts[string(letters[end+1-toldLetters:end+1])]; !told {
				break
			}
		}
		b.WriteString(name)
		done, i = at[end-1].to, end
	}
	return b.String() + text[done:]
}

// A span is where in a text something is written.
type span struct{ from, to int }

// lettersOf gives the letters and digits of a text, unescaped and in lower case, and where they
// are.
func lettersOf(text string) (letters []byte, at []span) {
	for i := 0; i < len(text); {
		c, end := unescape(text, i)
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' {
			letters, at = append(letters, c), append(at, span{i, end})
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
