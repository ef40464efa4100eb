package seal

import (
	"net/http"
	"strings"

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
			kept := new(requestKeeper)
			options := &webpushgo.Options{
				HTTPClient: kept, TTL: ttlSeconds,
				Subscriber:     strings.TrimPrefix(contact, "mailto:"), // webpush-go adds mailto: itself
				VAPIDPublicKey: w.keys.PublicKey(), VAPIDPrivateKey: w.keys.PrivateKey(),
			}
			if !pad {
				options.RecordSize = unpadded
			}
			return maker{make: func(i int) (product, error) {
				_, err := webpushgo.SendNotification(w.message, w.recipients[i].theirs, options)
				return product{request: kept.request}, err
			}}, nil
		},
	}
}

// unpadded is the record size without padding: salt, key, delimiter, message and tag, and what
// webpush-go subtracts for its own header.
const unpadded = 86 + messageBytes + 1 + 16

// requestKeeper is the HTTP client of webpush-go, which can only send: it keeps the request.
type requestKeeper struct{ request *http.Request }

// Do keeps the request instead of sending it.
func (k *requestKeeper) Do(r *http.Request) (*http.Response, error) {
	k.request = r
	return nil, nil
}
