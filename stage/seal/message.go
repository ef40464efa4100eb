package seal

import (
	"encoding/binary"
	"errors"
	"time"

	"postage/webpush"
	"postage/webpush/receiver"
)

// OpenStrict opens both ends of messages that are sealed by package webpush with a key of their own
// each, for stages that send them. Both are of the same subscription where the seed is the same.
// What is sent is the Authorization field, with its length before it in two bytes, and the body
// (RFC 8291). open verifies a token once (RFC 8292): the library uses it for hours. Both functions
// return memory that their next call overwrites.
func OpenStrict(seed uint64) (seal, open func([]byte) ([]byte, error), err error) {
	w, err := newWorkload(seed)
	if err != nil {
		return nil, nil, err
	}
	c, err := newClient(w, webpush.Config{Reuse: webpush.Reuse{}})
	if err != nil {
		return nil, nil, err
	}
	to, wire, body, verified := &w.recipients[0], []byte(nil), []byte(nil), ""
	seal = func(message []byte) ([]byte, error) {
		var header webpush.Header
		if body, header, err = c.AppendMessage(body[:0], message, to.sub, messageOptions(false)); err != nil {
			return nil, err
		}
		wire = binary.BigEndian.AppendUint16(wire[:0], uint16(len(header.Authorization)))
		wire = append(append(wire, header.Authorization...), body...)
		return wire, nil
	}
	return seal, func(sealed []byte) ([]byte, error) {
		if len(sealed) < 2 || len(sealed)-2 < int(binary.BigEndian.Uint16(sealed)) {
			return nil, errors.New("seal: the message ends in its Authorization field")
		}
		authorization, body := sealed[2:2+binary.BigEndian.Uint16(sealed)], sealed[2+binary.BigEndian.Uint16(sealed):]
		if string(authorization) != verified {
			if _, err := receiver.VerifyVAPID(string(authorization), to.origin, time.Now()); err != nil {
				return nil, err
			}
			verified = string(authorization)
		}
		return to.browser.Open(body)
	}, nil
}
