package webpush

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
)

// Sizes of an encrypted message (RFC 8188 section 2.1, RFC 8291 section 4).
const (
	saltBytes   = 16
	tagBytes    = 16
	headerBytes = saltBytes + 4 + 1 + publicKeyBytes // salt, record size, key length, key: 86

	// MaxBodyBytes is the size of the largest body that a push service has to
	// accept (RFC 8030 section 7.2).
	MaxBodyBytes = 4096

	// maxPlaintextBytes holds the message, its one byte of delimiter and the padding.
	maxPlaintextBytes = MaxBodyBytes - headerBytes - tagBytes

	maxCompatiblePlaintextBytes = MaxCompatibleMessageBytes + 1

	// MaxMessageBytes is the longest message that fits, unpadded: 3993.
	MaxMessageBytes = maxPlaintextBytes - 1

	// MaxCompatibleMessageBytes is the longest message that, unpadded, every known
	// push service delivers: 2820. Mozilla's reaches Firefox for Android through a
	// bridge that takes 4096 bytes of base64 and some of its own, and answers 413 to
	// a longer one, or loses it (web-push-libs/web-push-php issues 62 and 108, where
	// the figure comes from; autopush-rs, routers/fcm/settings.rs).
	MaxCompatibleMessageBytes = 2820

	// OverheadBytes is what encryption adds to a message without padding: 103.
	OverheadBytes = headerBytes + 1 + tagBytes
)

// A Padding says how far messages are padded, so that their length tells the push service and the
// network less (RFC 8188 section 4.8). The zero value pads nothing.
type Padding struct {
	block   int
	longest int // longer messages are refused; 0 is MaxMessageBytes
}

// PadToBlock pads the message and its delimiter to the next multiple of sizeBytes, 1 to 3994, or to
// the maximum if that is nearer. Bodies of 4096 bytes, which PadToBlock(3994) gives, do not reach
// Firefox for Android: see [PadToFit].
func PadToBlock(sizeBytes int) Padding {
	return Padding{block: cmp.Or(sizeBytes, -1)} // not the zero value, so that sealing fails
}

// PadToFit pads every message to the longest that all known push services deliver,
// [MaxCompatibleMessageBytes], so that all look alike. A longer message fails as too large.
func PadToFit() Padding {
	return Padding{block: maxCompatiblePlaintextBytes, longest: MaxCompatibleMessageBytes}
}

// plaintextBytes is the length of message, delimiter and padding.
func (p Padding) plaintextBytes(messageBytes int) (int, error) {
	n := messageBytes + 1
	if longest := cmp.Or(p.longest, MaxMessageBytes); messageBytes > longest {
		return 0, &MessageSizeError{Bytes: messageBytes, Max: longest}
	}
	if p.block == 0 {
		return n, nil
	}
	if p.block < 0 || p.block > maxPlaintextBytes {
		return 0, errors.New("webpush: padding: block size not between 1 and 3994 bytes")
	}
	n = (n + p.block - 1) / p.block * p.block
	return min(n, maxPlaintextBytes), nil
}

// A MessageSizeError is a message too long to be sent: its body would be over
// [MaxBodyBytes], or longer than [PadToFit] allows. It matches [TooLarge].
type MessageSizeError struct {
	Bytes int // the message's length
	Max   int // the longest that fits
}

func (e *MessageSizeError) Error() string {
	return fmt.Sprintf("webpush: message of %d bytes, at most %d fit", e.Bytes, e.Max)
}

// Is reports whether target is [TooLarge].
func (e *MessageSizeError) Is(target error) bool { return target == TooLarge }

// limitText and excessText find what a service says when it refuses a body: "limited to 3070 bytes"
// (Mozilla's, formerly), "limit is 2048 bytes"; and by how much the body in base64 is too long.
var (
	limitText  = regexp.MustCompile(`limit(?:ed to| is) (\d{2,5}) bytes`)
	excessText = regexp.MustCompile(`too long by (\d{1,5}) bytes`)
)

// fits is the longest message that a service which refused a body of this length
// would take, or 0 if that is not known: what it says, or else what all take.
func fits(bodyBytes int, reason string) int {
	if m := limitText.FindStringSubmatch(reason); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil && n > OverheadBytes && n < bodyBytes {
			return min(n-OverheadBytes, MaxCompatibleMessageBytes)
		}
	}
	if m := excessText.FindStringSubmatch(reason); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			return max(0, min(bodyBytes-(3*n+3)/4-OverheadBytes, MaxCompatibleMessageBytes))
		}
	}
	if bodyBytes > MaxCompatibleMessageBytes+OverheadBytes {
		return MaxCompatibleMessageBytes
	}
	return 0
}
