package route

import (
	"cmp"
	"slices"
	"strings"

	"postage/record"
)

// A way is a choice at each step, by the name that the step's stage has for it, and the type of the
// column that messages are stored in, bytea if it is empty.
type way struct {
	Codec, Proto, Pack, Call, Column string
}

func (w *way) choices() []*string {
	return []*string{&w.Codec, &w.Proto, &w.Pack, &w.Call, &w.Column}
}

// usual is what most services have.
func (r *route) usual(msgs int) way {
	w := way{Codec: r.Usual, Proto: "proto=http1", Pack: "pack=none", Call: "lib=pgx/call=exec"}
	if msgs > 1 {
		w.Call = "lib=pgx/call=sendbatch"
	}
	return w
}

// bare is the floor: bytes made beforehand, over TLS alone, into one write.
func (r *route) bare() way {
	w := way{Codec: r.Usual, Proto: "floor=tls", Pack: "pack=none", Call: floorName}
	if slices.Contains(r.Codecs, "codec=protobuf") && r.Lost["codec=protobuf"] == "" {
		w.Codec = "codec=protobuf"
	}
	return w
}

const floorName = "floor=precomputed"

// sealed is strict Web Push in place of a compression. It takes 3,993 bytes at most, so a brought
// message may be too long for it.
const sealed = "seal=webpush/mode=strict"

// changes are the rows: what each has in place of the usual. To add one, add a line.
func (r *route) changes(msgs int) (list []way) {
	var all []way
	for _, codec := range r.Codecs {
		all = append(all, way{Codec: codec})
	}
	all = append(all,
		way{Proto: "proto=http2"},
		way{Proto: "proto=http3"},
		way{Proto: "proto=grpc"},
		way{Proto: "proto=connect/over=http2/lib=connect-go"},
		way{Pack: "pack=gzip/level=6"},
		way{Pack: "pack=zstd/level=1"},
		way{Call: "lib=pgbulk/call=exec"},
		way{Call: "lib=pgbulk/call=upsert/strategy=auto"},
		way{Codec: "codec=json", Column: "column=jsonb"},
		way{Codec: r.Best, Proto: "proto=grpc"},
		way{Codec: r.Best, Call: "lib=pgbulk/call=exec"},
	)
	if r.Name == "" && msgs == 1 {
		all = append(all, way{Pack: sealed})
	}
	if msgs > 1 {
		all = append(all, way{Call: "lib=pgx/call=exec"})
	}
	for _, w := range all {
		if w = w.changed(r.usual(msgs)); w != (way{}) && !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}

// name has what is changed.
func (w way) name() string {
	var parts []string
	for _, part := range w.choices() {
		if *part != "" {
			parts = append(parts, *part)
		}
	}
	return strings.Join(parts, "/")
}

// in is the usual way with the changes of w.
func (w way) in(all way) way {
	for i, choice := range all.choices() {
		*choice = cmp.Or(*w.choices()[i], *choice)
	}
	return all
}

// changed is w without what it has in common with another way.
func (w way) changed(other way) way {
	for i, choice := range other.choices() {
		if mine := w.choices()[i]; *mine == *choice {
			*mine = ""
		}
	}
	return w
}

// settings are the whole way's, which a row's name does not repeat.
func (w way) settings() map[string]string {
	packed, _, _ := strings.Cut(w.Pack, "=")
	return map[string]string{"codec": value(w.Codec), "proto": value(w.Proto), packed: value(w.Pack), "store": strings.ReplaceAll(w.Call, "/", " "), "column": w.column()}
}

// column is where messages are stored.
func (w way) column() string { return value(cmp.Or(w.Column, "column=bytea")) }

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

// steps lists what is done in the way, in order.
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
		parts = append(parts, way{Call: w.Call, Column: w.Column}.name())
	}
	return strings.Join(parts, "/")
}

// carrying is the way on which the row part(s) does a step: for all but the transport the usual
// one, with the codec's bytes, compressed only where that is the step.
func (w way) carrying(s step) way {
	if s != stepTransport {
		w.Proto = "proto=http1"
		if s != stepPack && s != stepSeal {
			w.Pack = "pack=none"
		}
	}
	return w
}

// isPart says whether a row is of a step alone.
func isPart(contender string) bool { return record.KeysOf(contender).Get("part") != "" }
