package profile

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	gojson "github.com/goccy/go-json"
	kgzip "github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// texts are of kinds that servers compress, and that the rows about messages are not like: long,
// and of much the same over and over, or prose.
func texts(t *testing.T) map[string][]byte {
	draw := rand.New(rand.NewPCG(1, 2))
	var list, log, metrics bytes.Buffer
	for i := range 1000 {
		line, err := json.Marshal(map[string]any{"id": draw.Uint32(), "name": fmt.Sprint("item-", i), "price": draw.Float64() * 100, "stock": draw.IntN(50), "tags": []string{"new", "blue"}, "supplier": map[string]any{"name": "ACME", "country": "DE"}})
		if err != nil {
			t.Fatal(err)
		}
		list.Write(append(line, ','))
		fmt.Fprintf(&log, "2026-11-24T10:%02d:%02d.%03dZ INFO request served method=GET path=/orders/%d status=200 took=%dus\n", i/60%60, i%60, draw.IntN(1000), draw.IntN(1e6), draw.IntN(9000))
		fmt.Fprintf(&metrics, "rpc_seconds_bucket{service=\"orders\",method=\"m%d\",le=\"%g\"} %d\n", i/12, 0.001*math.Pow(2, float64(i%12)), draw.IntN(1e5))
	}
	prose, err := os.ReadFile("../../../docs/load.md")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../show/testdata/page.html")
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"list": list.Bytes(), "log": log.Bytes(), "metrics": metrics.Bytes(), "page": page, "prose": prose}
}

// writer is what compresses into another writer, again and again.
type writer interface {
	io.WriteCloser
	Reset(io.Writer)
}

// textCosts measures compressing and decompressing the texts, by whole writers that are kept.
func textCosts(t *testing.T) (all []costCase) {
	plainGzip, err := kgzip.NewWriterLevel(nil, 6)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	unzip := func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }
	found := texts(t)
	for _, name := range slices.Sorted(maps.Keys(found)) {
		text := found[name]
		pack := costCase{stage: "encode", does: "encode", message: "text=" + name, floor: uncompressed, rows: map[string]figure{uncompressed: {0, 0, float64(len(text)), 0}}}
		unpack := costCase{stage: "encode", does: "decode", message: "text=" + name, floor: uncompressed, rows: map[string]figure{uncompressed: pack.rows[uncompressed]}}
		for contender, how := range map[string]struct {
			to   writer
			from func(io.Reader) (io.Reader, error)
		}{
			"pack=gzip/level=6":                   {gzip.NewWriter(nil), unzip},
			"pack=gzip/level=6/library=klauspost": {plainGzip, func(r io.Reader) (io.Reader, error) { return kgzip.NewReader(r) }},
			"pack=zstd/level=3":                   {z, func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r, zstd.WithDecoderConcurrency(1)) }},
			"pack=s2":                             {s2.NewWriter(nil, s2.WriterConcurrency(1)), func(r io.Reader) (io.Reader, error) { return s2.NewReader(r), nil }},
			"pack=snappy":                         {snappy.NewBufferedWriter(nil), func(r io.Reader) (io.Reader, error) { return snappy.NewReader(r), nil }},
		} {
			var packed, plain bytes.Buffer
			packing, _ := fastest(t, func() error {
				packed.Reset()
				how.to.Reset(&packed)
				_, err := how.to.Write(text)
				return errors.Join(err, how.to.Close())
			})
			size := float64(packed.Len())
			unpacking, _ := fastest(t, func() error {
				plain.Reset()
				r, err := how.from(bytes.NewReader(packed.Bytes()))
				if err == nil {
					_, err = plain.ReadFrom(r)
				}
				return err
			})
			if !bytes.Equal(plain.Bytes(), text) {
				t.Fatalf("%s: %s: unpacked, it differs", name, contender)
			}
			pack.rows[contender], unpack.rows[contender] = figure{packing, 0, size, 0}, figure{unpacking, 0, size, 0}
		}
		all = append(all, pack, unpack)
	}
	return all
}

// item is what the texts of JSON are lists of.
type item struct {
	ID       uint32            `json:"id"`
	Name     string            `json:"name"`
	Price    float64           `json:"price"`
	Stock    int               `json:"stock"`
	Tags     []string          `json:"tags"`
	Supplier map[string]string `json:"supplier"`
	Ordered  time.Time         `json:"ordered"`
	Note     *string           `json:"note,omitempty"`
}

// jsonCosts measures encoding/json, which is the contender named, and others: into and from any,
// and with structs.
func jsonCosts(t *testing.T, first string) (all []costCase) {
	draw, note, items := rand.New(rand.NewPCG(3, 4)), "as agreed by telephone, not before nine", []item{}
	for i := range 100 {
		items = append(items, item{ID: draw.Uint32(), Name: fmt.Sprint("item-", i), Price: draw.Float64() * 100, Stock: draw.IntN(50), Tags: []string{"new", "blue"}, Supplier: map[string]string{"name": "ACME", "country": "DE"}, Ordered: time.Unix(draw.Int64N(1e9), 0).UTC()})
		if i%2 == 0 {
			items[i].Note = &note
		}
	}
	type attribute struct {
		S, N *string
		L    []attribute
	}
	attributes := map[string]*attribute{}
	for i := range 30 {
		attributes[fmt.Sprint("attribute-", i)] = &attribute{S: &note, L: make([]attribute, i%3)}
	}
	all = append(all, jsonCost(t, first, "attributes", attributes)...)
	names := map[string]map[string][]string{"input": {"user": {"alice"}, "roles": strings.Fields(strings.Repeat("reader writer ", 150))}}
	all = append(all, jsonCost(t, first, "item", items[0])...)
	all = append(all, jsonCost(t, first, "note", struct {
		Title, Message string
		Priority       int
		Date           time.Time
	}{"Backup", note, 5, items[0].Ordered})...)
	all = append(all, jsonCost(t, first, "list", items)...)
	all = append(all, jsonCost(t, first, "names", names)...)
	return append(all, jsonCost(t, first, "numbers", slices.Repeat([][]float64{{12.25, -7, 0.000125, 98765}}, 300))...)
}

func jsonCost[T any](t *testing.T, first, message string, value T) []costCase {
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	cost := func(do func() error) figure {
		ns, bytes := fastest(t, func() (err error) {
			for range 20 {
				err = errors.Join(err, do())
			}
			return err
		})
		return figure{ns / 20, bytes / 20, float64(len(text)), 0}
	}
	held := make([]byte, len(text))
	floor := cost(func() error { copy(held, text); return nil })
	of := func(does, message string) costCase {
		return costCase{stage: "encode", does: does, message: message, rows: map[string]figure{"floor=memcpy": floor}, floor: "floor=memcpy"}
	}
	var anything any
	if err := json.Unmarshal(text, &anything); err != nil {
		t.Fatal(err)
	}
	into, decode, encode, encodeAny := of("decode", "any="+message), of("decode", "struct="+message), of("encode", "struct="+message), of("encode", "any="+message)
	intoStream, stream := of("decode", "any="+message+"/from=stream"), of("decode", "struct="+message+"/from=stream")
	for contender, how := range map[string]struct {
		unmarshal func([]byte, any) error
		read      func(io.Reader, any) error
		marshal   func(any) ([]byte, error)
	}{
		first:           {json.Unmarshal, func(r io.Reader, to any) error { return json.NewDecoder(r).Decode(to) }, json.Marshal},
		"codec=go-json": {gojson.Unmarshal, func(r io.Reader, to any) error { return gojson.NewDecoder(r).Decode(to) }, gojson.Marshal},
		secondVersion: {func(text []byte, to any) error { return jsonv2.Unmarshal(text, to) },
			func(r io.Reader, to any) error { return jsonv2.UnmarshalRead(r, to) }, func(v any) ([]byte, error) { return jsonv2.Marshal(v) }},
	} {
		into.rows["into=any/"+contender] = cost(func() error { return how.unmarshal(text, new(any)) })
		decode.rows[contender] = cost(func() error { return how.unmarshal(text, new(T)) })
		intoStream.rows["from=stream/into=any/"+contender] = cost(func() error { return how.read(iotest.DataErrReader(bytes.NewReader(text)), new(any)) })
		stream.rows["from=stream/"+contender] = cost(func() error { return how.read(iotest.DataErrReader(bytes.NewReader(text)), new(T)) })
		encode.rows[contender] = cost(func() error { _, err := how.marshal(&value); return err })
		encodeAny.rows[contender] = cost(func() error { _, err := how.marshal(anything); return err })
	}
	return []costCase{into, decode, encode, encodeAny, intoStream, stream}
}

// fastest is what the fastest of 30 calls takes, in ns, and the bytes that it allocates.
func fastest(t *testing.T, do func() error) (ns, bytes float64) {
	ns, bytes = math.Inf(1), math.Inf(1)
	var before, after runtime.MemStats
	for range 30 {
		runtime.ReadMemStats(&before)
		begin := time.Now()
		if err := do(); err != nil {
			t.Fatal(err)
		}
		ns = min(ns, float64(time.Since(begin)))
		runtime.ReadMemStats(&after)
		bytes = min(bytes, float64(after.TotalAlloc-before.TotalAlloc))
	}
	return ns, bytes
}
