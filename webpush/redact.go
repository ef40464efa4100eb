package webpush

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
)

// writeRedacted is the body of every Format method here: for every verb and flag it prints only the
// safe text.
func writeRedacted(f fmt.State, text string) {
	io.WriteString(f, text) //nolint:errcheck // fmt.State has nowhere to report it
}

// tokenLike finds what may be a piece of an endpoint or of a token, however it is escaped. Words,
// addresses and times are shorter or have no digit.
var tokenLike = regexp.MustCompile(`[0-9A-Za-z_.~%+/=\\-]{20,}`)

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
	text = tokenLike.ReplaceAllStringFunc(text, func(run string) string {
		if len(run) < 32 && !strings.ContainsAny(run, "0123456789") {
			return run
		}
		return withheld
	})
	if text = strings.TrimSpace(text); len(text) > maxReasonBytes {
		text = strings.TrimSpace(strings.ToValidUTF8(text[:maxReasonBytes], ""))
	}
	return text
}

const withheld = "[withheld]"
