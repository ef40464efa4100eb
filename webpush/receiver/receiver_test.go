package receiver_test

import (
	"encoding/base64"
	"testing"

	"postage/webpush/receiver"
)

func b64(t testing.TB, s string) []byte {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRFC8291Example opens the message of RFC 8291 section 5.
func TestRFC8291Example(t *testing.T) {
	r, err := receiver.New(b64(t, "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"), b64(t, "BTBZMqHH6r4Tts7J_aSIgg"))
	if err != nil {
		t.Fatal(err)
	}
	body := b64(t, "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN")
	got, err := r.Open(body)
	if err != nil || string(got) != "When I grow up, I want to be a watermelon" {
		t.Errorf("got %q, %v", got, err)
	}
	for i := range body { // no byte can be changed: header and key id are authenticated through the key
		broken := append([]byte(nil), body...)
		broken[i] ^= 1
		if _, err := r.Open(broken); err == nil && (i < 16 || i >= 20) { // the record size alone is not
			t.Errorf("byte %d changed and still opened", i)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	r, err := receiver.Generate()
	if err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 86)
	head[19], head[20] = 200, 65
	many := append(append([]byte(nil), head...), make([]byte, 300)...)
	for name, body := range map[string][]byte{
		"empty": nil, "short": make([]byte, 20), "no key id": make([]byte, 60),
		"record size 0": append(make([]byte, 20), 0), "not a point": head, "two records": many,
	} {
		if _, err := r.Open(body); err == nil {
			t.Errorf("%s: opened", name)
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(b64(f, "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"))
	f.Add(b64(f, "uNCkWiNYzKTnBN9ji3-qWAAAABkCYTHOG8chz_gnvgOqdGYovxyjuqRyJFjEDyoF1Fvkj6hQPdPHI51OEUKEpgz3SsLWIqS_uA"))
	r, err := receiver.New(b64(f, "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"), b64(f, "BTBZMqHH6r4Tts7J_aSIgg"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if got, err := r.Open(body); err == nil && len(got)+103 > len(body) {
			t.Errorf("%d bytes opened to %d", len(body), len(got))
		}
	})
}
