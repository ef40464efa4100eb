package webpush

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// writeRedacted is the body of every Format method here: for every verb and flag it prints only the
// safe text.
func writeRedacted(f fmt.State, text string) {
	io.WriteString(f, text) //nolint:errcheck // fmt.State has nowhere to report it
}

// cleanText makes a stranger's text fit for an error: printable, on one line, at most
// maxReasonBytes, without the endpoint beyond its origin and without anything that looks like a
// piece of it or of a token.
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
	if !sub.IsZero() {
		path := sub.Endpoint()[sub.base.Value().pathAt:]
		for _, secret := range []string{path, path[strings.LastIndexAny(path, "/=")+1:]} {
			if len(secret) > 4 {
				text = strings.ReplaceAll(text, secret, withheld)
			}
		}
	}
	text = withholdTokens(text)
	if text = strings.TrimSpace(text); len(text) > maxReasonBytes {
		text = strings.TrimSpace(strings.ToValidUTF8(text[:maxReasonBytes], ""))
	}
	return text
}

const withheld = "[withheld]"

// withholdTokens takes out what may be a piece of an endpoint or of a token, however it is escaped:
// 20 such characters with a digit, or 32. Words, addresses and times are shorter or have no digit.
func withholdTokens(text string) string {
	var told strings.Builder
	start := 0
	for i := range len(text) + 1 {
		if i < len(text) && isTokenByte(text[i]) {
			continue
		}
		run := text[start:i]
		if len(run) >= 32 || len(run) >= 20 && strings.ContainsAny(run, "0123456789") {
			run = withheld
		}
		told.WriteString(run)
		if i < len(text) {
			told.WriteByte(text[i])
		}
		start = i + 1
	}
	return told.String()
}

func isTokenByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(`-_.~%+/=\`, c) >= 0
}
