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
	"slices"
	"testing"
	"time"

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
	prose, err := os.ReadFile("../../docs/load.md")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../report/testdata/profile.html")
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
			packing := fastest(t, func() error {
				packed.Reset()
				how.to.Reset(&packed)
				_, err := how.to.Write(text)
				return errors.Join(err, how.to.Close())
			})
			size := float64(packed.Len())
			unpacking := fastest(t, func() error {
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

// fastest is what the fastest of 30 calls takes, in ns.
func fastest(t *testing.T, do func() error) float64 {
	least := math.Inf(1)
	for range 30 {
		begin := time.Now()
		if err := do(); err != nil {
			t.Fatal(err)
		}
		least = min(least, float64(time.Since(begin)))
	}
	return least
}
