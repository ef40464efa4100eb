package hello

import (
	"encoding/binary"
	"fmt"
	"io"
)

// MaxFrame is the longest frame that ReadFrame takes.
const MaxFrame = 16 << 20

// AppendFrame appends a frame, as the floors send it: four bytes of length, big-endian,
// then the body.
func AppendFrame(dst, body []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(body)))
	return append(dst, body...)
}

// ReadFrame reads a frame's body into buf, which is grown if it has to be.
func ReadFrame(r io.Reader, buf []byte) ([]byte, error) {
	if cap(buf) < 4 {
		buf = make([]byte, 4, 4<<10)
	}
	if _, err := io.ReadFull(r, buf[:4]); err != nil {
		return buf[:0], err
	}
	n := int(binary.BigEndian.Uint32(buf[:4]))
	if n > MaxFrame {
		return buf[:0], fmt.Errorf("a frame of %d bytes is over %d", n, MaxFrame)
	}
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	if _, err := io.ReadFull(r, buf[:n]); err != nil {
		return buf[:0], fmt.Errorf("read a frame of %d bytes: %w", n, err)
	}
	return buf[:n], nil
}
