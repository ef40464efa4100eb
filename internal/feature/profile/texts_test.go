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

	"github.com/bytedance/sonic"
	jsonv2 "github.com/go-json-experiment/json"
	gojson "github.com/goccy/go-json"
	kgzip "github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"

	"postage/internal/stats"
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
	found := map[string][]byte{"list": list.Bytes(), "log": log.Bytes(), "metrics": metrics.Bytes(), "page": page, "prose": prose}
	for _, name := range []string{"list", "log", "prose"} {
		found["short-"+name] = found[name][:2000]
	}
	found["tiny-list"] = found["list"][:300]
	return found
}

// writer is what compresses into another writer, again and again.
type writer interface {
	io.WriteCloser
	Reset(io.Writer)
}

// packer is a library that compresses.
type packer struct {
	made func() (writer, error)
	from func(io.Reader) (io.Reader, error)
}

// packers have readers that are made anew for each text, as servers make them.
var packers = map[string]packer{
	"pack=gzip/level=6": {
		func() (writer, error) { return gzip.NewWriter(nil), nil },
		func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	},
	"pack=gzip/level=6/library=klauspost": {
		func() (writer, error) { return kgzip.NewWriterLevel(nil, 6) },
		func(r io.Reader) (io.Reader, error) { return kgzip.NewReader(r) },
	},
	"pack=zstd/level=3": {
		func() (writer, error) { return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)) },
		func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r, zstd.WithDecoderConcurrency(1)) },
	},
	"pack=s2": {
		func() (writer, error) { return s2.NewWriter(nil, s2.WriterConcurrency(1)), nil },
		func(r io.Reader) (io.Reader, error) { return s2.NewReader(r), nil },
	},
	"pack=snappy": {
		func() (writer, error) { return snappy.NewBufferedWriter(nil), nil },
		func(r io.Reader) (io.Reader, error) { return snappy.NewReader(r), nil },
	},
}

// textCosts measures decompressing the texts, and compressing them by writers that are kept and by
// new ones: a profile does not say which.
func textCosts(t *testing.T) (all []costCase) {
	found := texts(t)
	for _, name := range slices.Sorted(maps.Keys(found)) {
		text := found[name]
		kept, anew, unpacking := map[string]func() error{}, map[string]func() error{}, map[string]func() error{}
		sizes := map[string]float64{uncompressed: float64(len(text))}
		for contender, how := range packers {
			var packed, plain bytes.Buffer
			to, err := how.made()
			if err != nil {
				t.Fatal(err)
			}
			pack := func(to writer) error {
				packed.Reset()
				to.Reset(&packed)
				_, err := to.Write(text)
				return errors.Join(err, to.Close())
			}
			kept[contender] = func() error { return pack(to) }
			anew[contender] = func() error {
				to, err := how.made()
				if err != nil {
					return err
				}
				return pack(to)
			}
			if err := pack(to); err != nil {
				t.Fatal(err)
			}
			held := bytes.Clone(packed.Bytes())
			sizes[contender] = float64(len(held))
			unpacking[contender] = func() error {
				plain.Reset()
				r, err := how.from(bytes.NewReader(held))
				if err == nil {
					_, err = plain.ReadFrom(r)
				}
				if err == nil && !bytes.Equal(plain.Bytes(), text) {
					err = fmt.Errorf("%s: %s: unpacked, it differs", name, contender)
				}
				return err
			}
		}
		add := func(does, message string, calls map[string]func() error) {
			one := costCase{stage: "encode", does: does, message: message, rows: fastest(t, calls)}
			one.rows[uncompressed] = figure{}
			for contender, size := range sizes {
				x := one.rows[contender]
				x.bytes, x.size = 0, size
				one.rows[contender] = x
			}
			all = append(all, one)
		}
		add("encode", "text="+name, kept)
		add("encode", "text="+name+"/writer=new", anew)
		add("decode", "text="+name, unpacking)
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
	all = append(all, jsonCost(t, first, "page", items[:10])...)
	all = append(all, jsonCost(t, first, "list", items)...)
	type event struct {
		ID, Type, Source string
		Attempt          int
		Data             map[string]string
		Labels           []string
	}
	created := event{"8a7f", "order.created", "/shop/7", 1, map[string]string{"order": "A-7781", "state": "paid"}, []string{"eu", "web"}}
	all = append(all, jsonCost(t, first, "event", created)...)
	all = append(all, jsonCost(t, first, "events", slices.Repeat([]event{created}, 300))...)
	all = append(all, jsonCost(t, first, "names", names)...)
	return append(all, jsonCost(t, first, "numbers", slices.Repeat([][]float64{{12.25, -7, 0.000125, 98765}}, 300))...)
}

func jsonCost[T any](t *testing.T, first, message string, value T) (all []costCase) {
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var anything any
	if err := json.Unmarshal(text, &anything); err != nil {
		t.Fatal(err)
	}
	type calls = map[string]func() error
	into, decode, encode, encodeAny, intoStream, fromStream := calls{}, calls{}, calls{}, calls{}, calls{}, calls{}
	for contender, how := range map[string]struct {
		unmarshal func([]byte, any) error
		read      func(io.Reader, any) error
		marshal   func(any) ([]byte, error)
	}{
		first:           {json.Unmarshal, func(r io.Reader, to any) error { return json.NewDecoder(r).Decode(to) }, json.Marshal},
		"codec=go-json": {gojson.Unmarshal, func(r io.Reader, to any) error { return gojson.NewDecoder(r).Decode(to) }, gojson.Marshal},
		secondVersion: {func(text []byte, to any) error { return jsonv2.Unmarshal(text, to) },
			func(r io.Reader, to any) error { return jsonv2.UnmarshalRead(r, to) }, func(v any) ([]byte, error) { return jsonv2.Marshal(v) }},
		"codec=sonic/config=std": {sonic.ConfigStd.Unmarshal, func(r io.Reader, to any) error { return sonic.ConfigStd.NewDecoder(r).Decode(to) }, sonic.ConfigStd.Marshal},
	} {
		into[intoAny+contender] = func() error { return how.unmarshal(text, new(any)) }
		decode[contender] = func() error { return how.unmarshal(text, new(T)) }
		intoStream[stream+intoAny+contender] = func() error { return how.read(iotest.DataErrReader(bytes.NewReader(text)), new(any)) }
		fromStream[stream+contender] = func() error { return how.read(iotest.DataErrReader(bytes.NewReader(text)), new(T)) }
		encode[contender] = func() error { _, err := how.marshal(&value); return err }
		encodeAny[fromAny+contender] = func() error { _, err := how.marshal(anything); return err }
	}
	for _, one := range []struct {
		does, message string
		calls         map[string]func() error
	}{
		{"decode", "any=" + message, into}, {"decode", "struct=" + message, decode}, {"encode", "any=" + message, encodeAny}, {"encode", "struct=" + message, encode},
		{"decode", "any=" + message + "/from=stream", intoStream}, {"decode", "struct=" + message + "/from=stream", fromStream},
	} {
		rows := fastest(t, one.calls)
		for contender, x := range rows {
			x.size = float64(len(text))
			rows[contender] = x
		}
		for message, rows := range map[string]map[string]figure{one.message: rows, one.message + "/caches=cold": cold(t, one.calls, rows)} {
			all = append(all, costCase{stage: "encode", does: one.does, message: message, rows: rows})
		}
	}
	return all
}

// fastest is what the fastest of 30 turns of each call takes, in ns, and the bytes that it
// allocates. A turn is as many calls as take 50 µs, after a first one.
func fastest(t *testing.T, calls map[string]func() error) map[string]figure {
	rows := map[string]figure{}
	counts := map[string]int{}
	for name, call := range calls {
		turn(t, call, 1) // sonic compiles
		rows[name] = turn(t, call, 10)
		counts[name] = int(max(1, 50_000/rows[name].cost))
	}
	for range 30 {
		for name, call := range calls {
			x, one := rows[name], turn(t, call, counts[name])
			rows[name] = figure{cost: min(x.cost, one.cost), bytes: min(x.bytes, one.bytes)}
		}
	}
	return rows
}

// cold is fastest's rows with the median of calls whose code and data are in no near cache, as in a
// server that does something else in between.
func cold(t *testing.T, calls map[string]func() error, rows map[string]figure) map[string]figure {
	other := make([]byte, 4<<20)
	costs := map[string][]float64{}
	for range 101 {
		for name, call := range calls {
			for i := 0; i < len(other); i += 64 {
				other[i]++
			}
			costs[name] = append(costs[name], turn(t, call, 1).cost)
		}
	}
	medians := map[string]figure{}
	for name, x := range rows {
		x.cost = stats.Median(costs[name])
		medians[name] = x
	}
	return medians
}

// turn is what a call takes, on average.
func turn(t *testing.T, call func() error, calls int) figure {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	for range calls {
		if err := call(); err != nil {
			t.Fatal(err)
		}
	}
	ns := float64(time.Since(begin)) / float64(calls)
	runtime.ReadMemStats(&after)
	return figure{cost: ns, bytes: float64(after.TotalAlloc-before.TotalAlloc) / float64(calls)}
}
