package webpush

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"math/big"
	"strings"
	"testing"
	"time"
)

// TestNothingFormatsASecret prints and logs every type that holds a secret, with
// every verb, and looks for the secrets.
func TestNothingFormatsASecret(t *testing.T) {
	w := newWorkload(t)
	client := w.client(t, Config{Reuse: SessionKeys(time.Hour, 10)})
	sub := w.subs[0]
	_, header, err := client.AppendMessage(nil, w.message, sub, Options{})
	if err != nil {
		t.Fatal(err)
	}
	token, _, _ := strings.Cut(strings.TrimPrefix(header.Authorization, "vapid t="), ",")
	raw := mustDecode(t, w.keys.PrivateKey())
	endpointURL := sub.requestURL()
	token0 := sub.Endpoint()[strings.LastIndexByte(sub.Endpoint(), '/')+1:]
	secrets := []string{
		encodeBase64([]byte(sub.auth())), fmt.Sprintf("%x", sub.auth()), fmt.Sprintf("%d", []byte(sub.auth())), fmt.Sprintf("%v", []byte(sub.auth()[:4]))[1:8],
		endpointURL.Path, token, w.keys.PrivateKey(), fmt.Sprintf("%x", raw), fmt.Sprintf("%v", raw[:6])[1:12], new(big.Int).SetBytes(raw).String(),
		sub.auth(), fmt.Sprintf("%X", sub.auth()), strings.Trim(fmt.Sprintf("%q", sub.auth()), `"`), token0,
	}
	kept := client.sealer.keys.(*sessionKeys).at(0)
	secrets = append(secrets, string(kept.ikm[:]), fmt.Sprintf("%x", kept.ikm), fmt.Sprintf("%X", kept.ikm), fmt.Sprintf("%v", kept.ikm[:6])[1:12])
	values := map[string]any{
		"Subscription": sub, "*Subscription": &sub, "VAPIDKeys": w.keys, "KeyRing": client.signer.keys, "Sealer": client.sealer,
		"Signer": client.signer, "Client": client, "Header": header, "Config": Config{Keys: client.signer.keys},
		"slice": []Subscription{sub}, "pointers": []*Subscription{&sub}, "map of Subscription": map[string]Subscription{"a": sub}, "map": map[string]*VAPIDKeys{"a": w.keys}, "struct": struct{ S Subscription }{sub},
		"SendError": (&delivery{recipient: recipient{sub: sub}}).fail(Invalid, errNoSubscription).Err, "Result": (&delivery{recipient: recipient{sub: sub}}).fail(Invalid, errNoSubscription),
	}
	for name, value := range maps.Clone(values) {
		if name != "Header" { // whose fields are exported
			values["in "+name] = struct{ v any }{value} // fmt calls no method of a field that is not exported
		}
	}
	for name, value := range values {
		var log bytes.Buffer
		slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "value", value)
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "value", value)
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T"} {
			fmt.Fprintf(&log, verb+"\n", value)
		}
		for i, secret := range secrets {
			if strings.Contains(log.String(), secret) {
				t.Errorf("%s: secret %d is shown", name, i)
			}
		}
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "sub", sub, "keys", w.keys)
	if strings.Contains(log.String(), secrets[0]) || !strings.Contains(log.String(), sub.Fingerprint()) {
		t.Errorf("logged as JSON: %s", log.String())
	}
	for _, zero := range []any{Subscription{}, (*VAPIDKeys)(nil)} {
		if text := fmt.Sprint(zero); !strings.Contains(text, "none") {
			t.Errorf("%T: %s", zero, text)
		}
	}
}
