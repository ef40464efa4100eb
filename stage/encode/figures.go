package encode

import (
	"cmp"

	"postage/lab"
	"postage/record"
)

func figures() lab.Figures { return lab.Figures{Spoken: spoken} }

// messageNames and operationNames say messages and operations in words. A brought message has its
// own name.
var (
	messageNames = map[string]string{
		"benchmark": "a seed message",
		"tiny":      "three scalars",
		"order":     "an order",
		"metrics":   "1,000 samples",
		"blob":      "64 KiB",
		"hello":     "a hello",
		"traces":    "traces",
		"pod":       "a Pod",
		"cluster":   "a Cluster",
	}
	operationNames = map[op]string{
		opEncode:   "encoded",
		opKept:     "kept buffer",
		opDecode:   "decoded",
		opSome:     "two fields read",
		opReuse:    "decoded in place",
		opValidate: "validated",
		opPack:     "packed",
	}
)

// spoken returns a case in words: "an order, decoded", or "an order, packed json".
func spoken(caseName string) string {
	keys := record.KeysOf(caseName)
	name := keys.Get("msg")
	text := cmp.Or(messageNames[name], name) + ", " + operationNames[op(keys.Get("op"))]
	if codec := keys.Get("codec"); codec != "" {
		text += " " + codec
	}
	return text
}
