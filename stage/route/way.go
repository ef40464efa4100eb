package route

import (
	"slices"
	"strings"

	"postage/record"
)

// A way is a choice at each step, by the name that the step's stage has for it.
type way struct {
	Codec, Proto, Pack, Call string
}

// usual is what most services have.
func usual(msgs int) way {
	w := way{"codec=json", "proto=http1", "pack=none", "lib=pgx/call=exec"}
	if msgs > 1 {
		w.Call = "lib=pgx/call=sendbatch"
	}
	return w
}

// bare is the floor: bytes made beforehand, over TLS alone, into one write.
var bare = way{"codec=protobuf", "floor=tls", "pack=none", "floor=precomputed"}

const floorName = "floor=precomputed"

// sealed is strict Web Push in place of a compression.
const sealed = "seal=webpush/mode=strict"

// changes are the rows: what each has in place of the usual. To add one, add a line.
func changes(msgs int) []way {
	list := []way{
		{Codec: "codec=protobuf"},
		{Codec: "codec=vtprotobuf"},
		{Codec: "codec=pbfast"},
		{Codec: "codec=msgp"},
		{Codec: "codec=jsonv2"},
		{Codec: "codec=sonic/config=default"},
		{Proto: "proto=http2"},
		{Proto: "proto=http3"},
		{Proto: "proto=grpc"},
		{Proto: "proto=connect/over=http2/lib=connect-go"},
		{Pack: "pack=gzip/level=6"},
		{Pack: "pack=zstd/level=1"},
		{Call: "lib=pgbulk/call=exec"},
		{Call: "lib=pgbulk/call=upsert/strategy=auto"},
		{Codec: "codec=pbfast", Proto: "proto=grpc"},
		{Codec: "codec=pbfast", Call: "lib=pgbulk/call=exec"},
	}
	if msgs == 1 {
		return append(list, way{Pack: sealed})
	}
	return append(list, way{Call: "lib=pgx/call=exec"})
}

// name has what is changed.
func (w way) name() string {
	var parts []string
	for _, part := range []string{w.Codec, w.Proto, w.Pack, w.Call} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "/")
}

// in is the usual way with the changes of w.
func (w way) in(all way) way {
	for _, choice := range []struct{ to, from *string }{{&all.Codec, &w.Codec}, {&all.Proto, &w.Proto}, {&all.Pack, &w.Pack}, {&all.Call, &w.Call}} {
		if *choice.from != "" {
			*choice.to = *choice.from
		}
	}
	return all
}

// settings are the whole way's, which a row's name does not repeat.
func (w way) settings() map[string]string {
	packed, _, _ := strings.Cut(w.Pack, "=")
	return map[string]string{"codec": value(w.Codec), "proto": value(w.Proto), packed: value(w.Pack), "store": strings.ReplaceAll(w.Call, "/", " ")}
}

// value is what comes after the first key of a name: "json", "sonic config=default".
func value(name string) string {
	_, v, _ := strings.Cut(name, "=")
	return strings.ReplaceAll(v, "/", " ")
}

// A step is one of a way's, which a row does alone: its part.
type step string

const (
	stepEncode    step = "encode"
	stepPack      step = "pack"
	stepSeal      step = "seal"
	stepTransport step = "transport"
	stepDecode    step = "decode"
	stepStore     step = "store"
)

// steps are those of a way.
func (w way) steps() []step {
	steps := []step{stepEncode, stepPack, stepTransport, stepDecode, stepStore}
	switch w.Pack {
	case "pack=none":
		return slices.Delete(steps, 1, 2)
	case sealed:
		steps[1] = stepSeal
	}
	return steps
}

// part is the name of the row that does a step of the way alone. Ways that do the same in it have
// one row.
func (w way) part(s step) string {
	parts := []string{"part=" + string(s), w.Codec}
	switch s {
	case stepPack, stepSeal:
		parts = append(parts, w.Pack)
	case stepTransport:
		parts = append(parts, w.Proto)
		if w.Pack != "pack=none" {
			parts = append(parts, w.Pack)
		}
	case stepStore:
		parts = append(parts, w.Call)
	}
	return strings.Join(parts, "/")
}

// carrying is the way on which the row part(s) does a step: for all but the transport the usual
// one, with the codec's bytes, compressed only where that is the step.
func (w way) carrying(s step) way {
	if s != stepTransport {
		w.Proto = usual(1).Proto
		if s != stepPack && s != stepSeal {
			w.Pack = usual(1).Pack
		}
	}
	return w
}

// isPart says whether a row is of a step alone.
func isPart(contender string) bool { return record.KeysOf(contender).Get("part") != "" }
