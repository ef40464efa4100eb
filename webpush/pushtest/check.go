package pushtest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"postage/webpush/receiver"
)

const maxBodyBytes = 4096

// A refusal is an answer other than 201.
type refusal struct {
	status int
	reason string
}

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

// check does what a push service does before it takes a message.
func (s *Server) check(r *http.Request, browser *Browser) (Message, *refusal) {
	if r.Method != http.MethodPost {
		return Message{}, refuse(http.StatusMethodNotAllowed, "push messages are posted (RFC 8030 section 5)")
	}
	if browser == nil {
		return Message{}, refuse(http.StatusNotFound, "no such subscription")
	}
	s.mu.Lock()
	ended := browser.ended
	s.mu.Unlock()
	if ended {
		return Message{}, refuse(http.StatusGone, "the subscription has ended")
	}
	m := Message{Urgency: r.Header.Get("Urgency"), Topic: r.Header.Get("Topic"), ContentType: r.Header.Get("Content-Type"), Proto: r.Proto}
	if refused := m.readHeader(r); refused != nil {
		return m, refused
	}
	if !s.discard {
		if refused := s.authorize(r, browser, &m); refused != nil {
			return m, refused
		}
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBodyBytes+1))
	if err != nil {
		return m, refuse(http.StatusBadRequest, "the body broke off")
	}
	if len(body) > maxBodyBytes {
		return m, refuse(http.StatusRequestEntityTooLarge, "over 4096 bytes (RFC 8030 section 7.2)")
	}
	m.Body = body
	if len(body) == 0 && r.Header.Get("Content-Encoding") == "" {
		return m, nil
	}
	if refused := checkRecord(body); refused != nil {
		return m, refused
	}
	if !s.discard {
		m.Data, m.Err = browser.receiver.Open(body)
	}
	return m, nil
}

// readHeader checks TTL, Urgency, Topic and Content-Encoding.
func (m *Message) readHeader(r *http.Request) *refusal {
	h := r.Header
	seconds, err := strconv.ParseUint(h.Get("TTL"), 10, 31)
	if err != nil {
		return refuse(http.StatusBadRequest, "TTL missing or not a number of seconds (RFC 8030 section 5.2)")
	}
	m.TTL = time.Duration(seconds) * time.Second
	switch m.Urgency {
	case "", "very-low", "low", "normal", "high":
	default:
		return refuse(http.StatusBadRequest, "unknown urgency (RFC 8030 section 5.3)")
	}
	const base64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	if len(m.Topic) > 32 || strings.Trim(m.Topic, base64URL) != "" {
		return refuse(http.StatusBadRequest, "bad topic (RFC 8030 section 5.4)")
	}
	if encoding := h.Get("Content-Encoding"); encoding != "aes128gcm" && (encoding != "" || r.ContentLength != 0) {
		return refuse(http.StatusUnsupportedMediaType, "content encoding is not aes128gcm (RFC 8291 section 4)")
	}
	return nil
}

// authorize checks the VAPID token (RFC 8292 sections 2 to 4).
func (s *Server) authorize(r *http.Request, browser *Browser, m *Message) *refusal {
	claims, err := receiver.VerifyVAPID(r.Header.Get("Authorization"), s.URL, s.now())
	switch {
	case errors.Is(err, receiver.ErrNoVAPID):
		return refuse(http.StatusUnauthorized, "no vapid credentials")
	case err != nil:
		return refuse(http.StatusForbidden, "%v", err)
	case browser.publicKey != "" && claims.PublicKey != browser.publicKey:
		return refuse(http.StatusForbidden, "the subscription was made with another key")
	}
	m.Claims = claims
	return nil
}

// checkRecord checks what can be seen of the encrypted message without its key:
// RFC 8188 section 2.1 and RFC 8291 section 4.
func checkRecord(body []byte) *refusal {
	const header, tag = 86, 16
	if len(body) < header+1+tag || body[20] != 65 || body[21] != 4 {
		return refuse(http.StatusBadRequest, "the body does not start with an aes128gcm header and a P-256 key")
	}
	if recordSize := binary.BigEndian.Uint32(body[16:]); uint64(recordSize) <= uint64(len(body)-header) {
		return refuse(http.StatusBadRequest, "record size %d for a record of %d", recordSize, len(body)-header)
	}
	return nil
}
