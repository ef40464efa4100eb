package seal

import (
	"net/http"
	"strings"
	"time"

	webpushgo "github.com/SherClockHolmes/webpush-go"
)

// webpushGo is the library that most Go services use. It pads every body to 4096 bytes unless it is
// given a record size, and signs a token for every message.
func webpushGo(name string) *contender {
	return &contender{
		name: name, module: "github.com/SherClockHolmes/webpush-go", ownFloor: "floor=composed/mode=strict",
		settings: map[string]string{"as": "request", "padding": "as the case says: by its record size"},
		key:      perMessage, token: perMessage,
		open: func(w *workload, pad padding) (maker, error) {
			m := &sherlock{workload: w}
			m.options = &webpushgo.Options{
				HTTPClient: m, TTL: ttlSeconds,
				Subscriber:     strings.TrimPrefix(contact, "mailto:"), // webpush-go adds mailto: itself
				VAPIDPublicKey: w.keys.PublicKey(), VAPIDPrivateKey: w.keys.PrivateKey(),
			}
			if !pad {
				// Salt, key, delimiter, message and tag, and what webpush-go subtracts for its own
				// header.
				m.options.RecordSize = 86 + messageBytes + 1 + 16
			}
			return m, nil
		},
	}
}

// sherlock makes messages with webpush-go, which can only send: its HTTP client keeps the request
// and sends nothing.
type sherlock struct {
	workload *workload
	options  *webpushgo.Options
	request  *http.Request
}

// Do keeps the request instead of sending it.
func (s *sherlock) Do(r *http.Request) (*http.Response, error) {
	s.request = r
	return nil, nil
}

func (s *sherlock) make(i int) error {
	_, err := webpushgo.SendNotification(s.workload.message, s.workload.recipients[i].theirs, s.options)
	return err
}

func (s *sherlock) made() product {
	return product{header: s.request.Header, request: s.request, now: time.Now()}
}

func (s *sherlock) close() error { return nil }
