package webpush

import (
	"encoding/base64"
	"errors"
	"strings"
)

// decodeBase64 reads any of the four base64 alphabets of RFC 4648: standard or URL-safe, padded or
// not. Browsers write unpadded URL-safe, older code and databases hold the other three. A text that
// mixes alphabets, is padded wrongly, holds line breaks, or whose last character has unused bits
// set is refused. The error never quotes the text.
func decodeBase64(text string) ([]byte, error) {
	if strings.ContainsAny(text, "\r\n") {
		return nil, errors.New("base64 holds a line break") // Go's decoder would skip it
	}
	unpadded := strings.TrimRight(text, "=")
	if padding := len(text) - len(unpadded); padding != 0 && (padding > 2 || len(text)%4 != 0) {
		return nil, errors.New("base64 is padded wrongly")
	}
	encoding := base64.RawURLEncoding
	if strings.ContainsAny(unpadded, "+/") {
		encoding = base64.RawStdEncoding
	}
	b, err := encoding.Strict().DecodeString(unpadded)
	if err != nil {
		return nil, errors.New("not base64")
	}
	return b, nil
}

// encodeBase64 writes unpadded URL-safe base64, the form of the Push API and of RFC 7515.
func encodeBase64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
