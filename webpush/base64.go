package webpush

import (
	"encoding/base64"
	"errors"
	"strings"
)

// decodeBase64 reads any of the four base64 alphabets of RFC 4648, standard or URL-safe, padded or
// not: browsers write unpadded URL-safe, older code and databases hold the other three. Line ends,
// padding of any length and unused bits that are set are taken, as other libraries take them.
// Mixed alphabets are refused. The error never quotes the text.
func decodeBase64(text string) ([]byte, error) {
	text = strings.TrimRight(strings.TrimSpace(text), "=")
	encoding := base64.RawURLEncoding
	if strings.ContainsAny(text, "+/") {
		encoding = base64.RawStdEncoding
	}
	b, err := encoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("not base64")
	}
	return b, nil
}

// encodeBase64 writes unpadded URL-safe base64, the form of the Push API and of RFC 7515.
func encodeBase64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
