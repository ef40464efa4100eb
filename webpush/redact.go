package webpush

import (
	"fmt"
	"io"
	"net/url"
	"strings"
	"unicode"
)

// writeRedacted is the body of every Format method here: for every verb and flag it prints only the
// safe text.
func writeRedacted(f fmt.State, text string) {
	io.WriteString(f, text) //nolint:errcheck // fmt.State has nowhere to report it
}

// A cleanError is a stranger's error with a text that holds no secret. Unwrap gives the error itself.
type cleanError struct {
	text string
	err  error
}

func (e *cleanError) Error() string { return e.text }

func (e *cleanError) Unwrap() error { return e.err }

// Format prints the text, for every verb: some would print the error itself.
func (e *cleanError) Format(f fmt.State, _ rune) { writeRedacted(f, e.text) }

// cleanText makes a stranger's text fit for an error: printable, on one line, at most
// maxReasonBytes, and without anything that may be a piece of the endpoint beyond its origin, or of
// a token.
func cleanText(text string, sub Subscription) string {
	if text == "" {
		return ""
	}
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) { // line ends, and what changes the direction of text, too
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	var parts []string
	if !sub.IsZero() {
		path := unescaped(sub.Endpoint()[sub.base.Value().pathAt:])
		parts = strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune("/?&=", r) })
	}
	text = withholdSecrets(text, parts)
	if text = strings.TrimSpace(text); len(text) > maxReasonBytes {
		text = strings.TrimSpace(strings.ToValidUTF8(text[:maxReasonBytes], ""))
	}
	return text
}

// withholdSecrets takes out the runs of a text that may be of a token, or of a part of an endpoint's
// path.
func withholdSecrets(text string, parts []string) string {
	var told strings.Builder
	start := 0
	for i := range len(text) + 1 {
		if i < len(text) && isTokenByte(text[i]) {
			continue
		}
		run := text[start:i]
		if isLikeToken(run) || isOfPath(run, parts) {
			run = "[withheld]"
		}
		told.WriteString(run)
		if i < len(text) {
			told.WriteByte(text[i])
		}
		start = i + 1
	}
	return told.String()
}

// isTokenByte knows what tokens and endpoints are made of, and escaped with.
func isTokenByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(`-_.~%+/=\`, c) >= 0
}

// unescaped is a text in lower case, without the escapes of URLs, up to two levels of them, and of
// JSON.
func unescaped(text string) string {
	for range 2 {
		if plain, err := url.PathUnescape(text); err == nil {
			text = plain
		}
	}
	return lowerASCII(strings.ReplaceAll(text, `\`, ""))
}

// isLikeToken reports whether a run is so long that it may be a piece of a secret, however it is
// escaped. Words, addresses and times are shorter or have no digit.
func isLikeToken(run string) bool {
	return len(run) >= 32 || len(run) >= 20 && strings.ContainsAny(run, "0123456789")
}

// isOfPath reports whether a run has one of the parts of an endpoint's path, or eight bytes of it in
// a row. Parts of less than five bytes are no secrets.
func isOfPath(run string, parts []string) bool {
	const least, piece = 5, 8
	if len(run) < least {
		return false
	}
	run = unescaped(run)
	for _, part := range parts {
		if len(part) >= least && strings.Contains(run, part) {
			return true
		}
		for i := 0; i+piece <= len(run) && piece <= len(part); i++ {
			if strings.Contains(part, run[i:i+piece]) {
				return true
			}
		}
	}
	return false
}
