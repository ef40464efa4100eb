package webpush

import (
	"errors"
	"fmt"
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

	// MaxMessageBytes is the longest message that fits, unpadded: 3993.
	MaxMessageBytes = maxPlaintextBytes - 1

	// OverheadBytes is what encryption adds to a message without padding: 103.
	OverheadBytes = headerBytes + 1 + tagBytes
)

// A Padding says how far messages are padded, so that their length says less
// about their content to the push service and to whoever watches the network
// (RFC 8188 section 4.8). The zero value pads nothing.
type Padding struct {
	block int
}

// PadNone adds no padding: the body is the message and 103 bytes.
func PadNone() Padding { return Padding{} }

// PadToBlock pads the message and its delimiter to the next multiple of
// sizeBytes, or to the maximum if that is nearer. Message lengths can then be
// told apart only by block. sizeBytes must be between 1 and 3994; sealing with
// any other fails.
func PadToBlock(sizeBytes int) Padding {
	if sizeBytes == 0 {
		sizeBytes = -1 // not the zero value: it has to fail
	}
	return Padding{sizeBytes}
}

// PadToMax pads every body to 4096 bytes. All messages then look alike, and
// each costs about four kilobytes on the network.
func PadToMax() Padding { return Padding{maxPlaintextBytes} }

// plaintextBytes is the length of message, delimiter and padding.
func (p Padding) plaintextBytes(messageBytes int) (int, error) {
	n := messageBytes + 1
	if messageBytes > MaxMessageBytes {
		return 0, &MessageSizeError{Bytes: messageBytes}
	}
	if p.block == 0 {
		return n, nil
	}
	if p.block < 0 || p.block > maxPlaintextBytes {
		return 0, errPadding
	}
	n = (n + p.block - 1) / p.block * p.block
	return min(n, maxPlaintextBytes), nil
}

var errPadding = errors.New("webpush: padding: block size not between 1 and 3994 bytes")

// A MessageSizeError is a message too long to be sent: its body would be over
// [MaxBodyBytes]. It matches [ErrTooLarge].
type MessageSizeError struct {
	Bytes int // the message's length
}

func (e *MessageSizeError) Error() string {
	return fmt.Sprintf("webpush: message of %d bytes, at most %d fit", e.Bytes, MaxMessageBytes)
}

// Is reports whether target is [ErrTooLarge].
func (e *MessageSizeError) Is(target error) bool { return target == ErrTooLarge }
