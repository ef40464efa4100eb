package record_test

import (
	"maps"
	"testing"

	"postage/record"
)

func TestKeys(t *testing.T) {
	const name = "Encode/msg=order/op=decode/codec=json/reuse=no"
	keys := record.KeysOf(name)
	for key, want := range map[string]string{"msg": "order", "codec": "json", "Encode": "", "": ""} {
		if got := keys.Get(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if got := "Encode/" + keys.Join("/"); got != name {
		t.Errorf("taken apart and joined: %s", got)
	}
	if got := keys.Without("op", "reuse").Join(" "); got != "msg=order codec=json" || len(keys) != 4 {
		t.Errorf("without op and reuse: %s, and %d keys are left in the original", got, len(keys))
	}
	want := map[string]string{"codec": "x=y", "level": "3"}
	if got := record.KeysOf("codec=x=y").Settings(map[string]string{"level": "3", "codec": "z"}); !maps.Equal(got, want) {
		t.Errorf("settings %v", got)
	}
	if record.KeysOf("Encode") != nil {
		t.Error("keys of a stage")
	}
}

func TestProof(t *testing.T) {
	p := record.ProofFailed.Because("decoded 7, want 8")
	if p != "failed: decoded 7, want 8" || !p.Is(record.ProofFailed) || p.Is(record.ProofNotPossible) || p.Is(record.ProofOK) {
		t.Error(p)
	}
}
