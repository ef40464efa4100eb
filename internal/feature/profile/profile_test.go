package profile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/klauspost/compress/zstd"

	"postage/internal/verdict"
)

// stacks builds a profile: of each line the value, and the stack from the inside out. A file's name
// may stand behind "@".
func stacks(kind string, lines ...string) *profile.Profile {
	p := &profile.Profile{DurationNanos: 1e9, Period: 1e7, PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}}
	scale := []int64{1, 1e7}
	p.SampleType = []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}
	if kind == "allocs" {
		p.SampleType = []*profile.ValueType{{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"}}
	}
	made := map[string]*profile.Location{}
	for _, line := range lines {
		f := strings.Fields(line)
		var n int64
		if _, err := fmt.Sscan(f[0], &n); err != nil {
			panic(err)
		}
		s := &profile.Sample{Value: []int64{n * scale[0], n * scale[1]}}
		for _, name := range f[1:] {
			if made[name] == nil {
				fn := &profile.Function{ID: uint64(len(made) + 1)}
				fn.Name, fn.Filename, _ = strings.Cut(name, "@")
				made[name] = &profile.Location{ID: fn.ID, Line: []profile.Line{{Function: fn}}}
				p.Function, p.Location = append(p.Function, fn), append(p.Location, made[name])
			}
			s.Location = append(s.Location, made[name])
		}
		p.Sample = append(p.Sample, s)
	}
	p.Function = append(p.Function, &profile.Function{ID: uint64(len(made) + 1), Name: "runtime.main"})
	return p
}

// sourceOf reads a profile that was written.
func sourceOf(t testing.TB, p *profile.Profile) *Source {
	t.Helper()
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	s, err := Read("test", &out)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func summaryOf(t testing.TB, sources ...*Source) *Summary {
	t.Helper()
	table := must(NewOwners())
	s, err := Summarize(table, sources)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A sample belongs to the nearest caller that is not a helper.
func TestAttribution(t *testing.T) {
	for _, c := range []struct{ stack, want string }{
		{"runtime.memmove encoding/json.checkValid encoding/json.Unmarshal main.serve main.main", "decode JSON by encoding/json for main.serve"},
		{"runtime.mallocgc reflect.New encoding/json.(*decodeState).object encoding/json.(*Decoder).Decode example.com/app/orders.(*Server).Create@/src/orders/o.go", "decode JSON by encoding/json for example.com/app/orders.(*Server).Create"},
		{"strconv.AppendInt main.(*Order).MarshalJSON encoding/json.marshalerEncoder encoding/json.Marshal main.serve", "own code main.(*Order).MarshalJSON"},
		{"encoding/json.compact encoding/json.marshalerEncoder encoding/json.Marshal main.serve", "encode JSON by encoding/json for main.serve"},
		{"main.(*Server).ServeHTTP net/http.serverHandler.ServeHTTP net/http.(*conn).serve", "own code main.(*Server).ServeHTTP"},
		{"internal/runtime/syscall.Syscall6 syscall.write internal/poll.(*FD).Write net.(*conn).Write bufio.(*Writer).Flush net/http.(*conn).serve", "write HTTP by net/http for "},
		{"main.less sort.Sort main.handle", "own code main.less"},
		{"shop/pb.(*Order).UnmarshalVT@/src/shop/order_vtproto.pb.go main.handle", "decode protobuf by generated code for main.handle message Order"},
		{"shop/pb.(*Order).Unmarshal@/src/shop/order.pb.go main.handle", "decode protobuf by generated code for main.handle message Order"},
		{"shop/pb.(*Order).pbfastDecode@/src/shop/order_pbfast.pb.go google.golang.org/protobuf/proto.Unmarshal main.handle", "decode protobuf by google.golang.org/protobuf/proto for main.handle message Order"},
		{"go.opentelemetry.io/collector/pdata/internal.(*Span).UnmarshalJSON go.opentelemetry.io/collector/receiver/otlpreceiver.handle net/http.serve", "decode JSON by go.opentelemetry.io/collector/pdata/internal.*.UnmarshalJSON for "},
		{"shop/pb.(*Order).Unmarshal@/src/shop/order.go main.handle", "own code shop/pb.(*Order).Unmarshal"},
		{"example.com/app/wire.DecodeMsg@/src/app/wire/wire.go main.handle", "own code example.com/app/wire.DecodeMsg"},
		{"example.com/app/wire.(*Order).DecodeMsg@/src/app/wire/order_gen.go main.handle", "decode MessagePack by generated code for main.handle message Order"},
		{"encode_main.Order github.com/bytedance/sonic/internal/encoder.Encode github.com/bytedance/sonic.Marshal main.handle", "encode JSON by github.com/bytedance/sonic for main.handle"},
		{"decode_[]string github.com/bytedance/sonic/internal/decoder/jitdec.decodeTypedPointer main.handle", "decode JSON by github.com/bytedance/sonic for main.handle"},
		{"github.com/x/server/store.Put@/root/go/pkg/mod/github.com/x/server@v1.2.3/store/put.go main.main", "library github.com/x/server"},
		{"google.golang.org/protobuf/internal/impl.(*MessageInfo).unmarshal google.golang.org/protobuf/proto.UnmarshalOptions.unmarshal google.golang.org/protobuf/proto.Unmarshal main.f", "decode protobuf by google.golang.org/protobuf/proto for main.f"},
		{"google.golang.org/protobuf/internal/impl.(*M).Range google.golang.org/protobuf/encoding/protojson.encoder.marshalMessage google.golang.org/protobuf/encoding/protojson.Marshal main.f", "encode JSON by google.golang.org/protobuf/encoding/protojson for main.f"},
		{"compress/flate.(*compressor).deflate compress/gzip.(*Writer).Write main.zip.func1", "encode gzip by compress/gzip for main.zip"},
		{"github.com/klauspost/compress/internal/le.Load64[go.shape.int32] github.com/klauspost/compress/flate.(*fastEncL5).Encode github.com/klauspost/compress/gzip.(*Writer).Write main.zip", "encode gzip by github.com/klauspost/compress/gzip for main.zip"},
		{"syscall.read compress/flate.(*decompressor).Read compress/gzip.(*Reader).Read io.ReadAll main.f", "decode gzip by compress/gzip for main.f"},
		{"github.com/jackc/pgx/v5/pgproto3.(*Bind).Encode github.com/jackc/pgx/v5.(*Conn).SendBatch github.com/jackc/pgx/v5/pgxpool.(*Pool).SendBatch main.save", "PostgreSQL by github.com/jackc for main.save"},
		{"gopkg.in/yaml%2ev3.(*parser).parse gopkg.in/yaml%2ev3.Unmarshal main.f", "decode YAML by gopkg.in/yaml.v3 for main.f"},
		{"gopkg.in/yaml.v3.(*parser).parse gopkg.in/yaml.v3.Unmarshal main.f", "decode YAML by gopkg.in/yaml.v3 for main.f"},
		{"slices.Sort[go.shape.[]github.com/x/y.T] main.(*Set[github.com/x/y.T]).Sort.func2", "own code main.(*Set[...]).Sort"},
		{"example.com/cache.newCached.OnceValues[go.shape.[]uint8,go.shape.interface{}].func3@/usr/local/go/src/sync/oncefunc.go github.com/x/y.Get@/go/pkg/mod/github.com/x/y@v1.0.0/y.go", "library github.com/x/y"},
		{"github.com/google/btree.(*node).get@/root/go/pkg/mod/github.com/google/btree@v1.1.3/btree.go main.f", "library github.com/google/btree"},
		{"github.com/google/btree.(*node).get@github.com/google/btree@v1.1.3/btree.go main.f", "library github.com/google/btree"},
		{"github.com/google/btree.(*node).get@/src/btree.go main.f", "own code github.com/google/btree.(*node).get"},
		{"go/parser.(*parser).next main.f", "library go/parser"},
		{"github.com/prometheus/client_golang/prometheus.(*counter).Inc main.f", "library metrics"},
		{"github.com/prometheus/prometheus/tsdb.(*headAppender).Append@/src/prometheus/tsdb/head_append.go main.main", "own code github.com/prometheus/prometheus/tsdb.(*headAppender).Append"},
		{"runtime.scanobject runtime.gcDrain runtime.gcBgMarkWorker.func2 runtime.systemstack runtime.gcBgMarkWorker", "garbage"},
		{"runtime.gcDrainN runtime.gcAssistAlloc1 runtime.systemstack runtime.gcAssistAlloc runtime.mallocgc encoding/json.Unmarshal main.f", "garbage"},
		{"runtime.futex runtime.findRunnable runtime.schedule runtime.mcall", "runtime"},
		{"do_syscall_64 entry_SYSCALL_64", "not attributed"},
		{"do_syscall_64 runtime.mallocgc main.f", "own code main.f"},
	} {
		s := summaryOf(t, sourceOf(t, stacks("cpu", "5 "+c.stack)))
		got := ""
		switch {
		case len(s.Sites) == 1:
			got = s.Sites[0].String() + " by " + s.Sites[0].Library + " for " + s.Sites[0].Function
			if s.Sites[0].Message != "" {
				got += " message " + s.Sites[0].Message
			}
		case len(s.Libraries) == 1:
			got = "library " + s.Libraries[0].Operation
		}
		for name, share := range map[string]verdict.Interval{"garbage": s.Garbage, "runtime": s.Runtime, "not attributed": s.Unknown, "own code": s.Own} {
			if share.Value == 1 {
				got = name
			}
		}
		if got == "own code" {
			table, _ := NewOwners()
			a := &attributor{table: table, frames: map[*profile.Function]*frame{}, others: map[string]*Owner{}}
			p, _ := a.place(a.stack(stacks("cpu", "5 "+c.stack).Sample[0]))
			got += " " + p.site
		}
		if strings.HasPrefix(c.stack, "runtime.gcDrainN") && len(s.Sites) == 1 && s.Garbage.Value == 1 {
			got = "garbage" // of an assist, where it stands
		}
		if got != c.want {
			t.Errorf("%s\n  got  %s\n  want %s", c.stack, got, c.want)
		}
	}
}

// The program's own module is the user's code, also where it was built in the module cache; and a
// label leaves the samples that have it.
func TestMainModuleAndLabel(t *testing.T) {
	table := must(NewOwners())
	table.Main = "github.com/x/server"
	p := stacks("cpu", "5 github.com/x/server/store.Put@/root/go/pkg/mod/github.com/x/server@v1.2.3/store/put.go main.main", "3 github.com/x/serverless.Put@/root/go/pkg/mod/github.com/x/serverless@v1.2.3/put.go")
	p.Sample[0].Label = map[string][]string{"endpoint": {"/put"}}
	source := sourceOf(t, p)
	if s := must(Summarize(table, []*Source{source})); s.Own.Value != 5.0/8 {
		t.Errorf("%v is own code", s.Own)
	}
	if err := source.Labelled("endpoint=/put"); err != nil || len(source.pprof.Sample) != 1 {
		t.Errorf("%v: %d samples", err, len(source.pprof.Sample))
	}
	if err := source.Labelled("endpoint=/get"); err == nil || err.Error() != "test: no sample has the label endpoint=/get: there is /put" {
		t.Error(err)
	}
}

// A function that the table names owns what it calls of its library; encoding/json on the second
// version's code is not that version.
func TestContenders(t *testing.T) {
	const intoAny = "?it_decodes_into_any,_and_the_record_has_rows_of_structs"
	for stack, want := range map[string]string{
		"encoding/json.(*decodeState).scanWhile encoding/json.(*decodeState).objectInterface encoding/json.Unmarshal main.f":                       intoAny,
		"encoding/json.appendIndent encoding/json.(*Encoder).Encode main.f":                                                                        "?it_indents,_which_no_row_does",
		"encoding/json.(*decodeState).object encoding/json.(*Decoder).Decode main.f":                                                               "codec=json",
		"encoding/json/v2.unmarshalDecode encoding/json.(*Decoder).Decode main.f":                                                                  "codec=json/experiment=jsonv2",
		"encoding/json.(*decodeState).object encoding/json.Unmarshal main.f":                                                                       "codec=json",
		"encoding/json/jsontext.(*Decoder).ReadToken encoding/json/v2.unmarshalValueAny encoding/json/v2.Unmarshal main.f":                         intoAny,
		"encoding/json/jsontext.(*Decoder).ReadToken encoding/json/v2.unmarshalValueAny encoding/json/v2.Unmarshal encoding/json.Unmarshal main.f": intoAny,
		"encoding/json/jsontext.(*Encoder).WriteToken encoding/json/v2.Marshal encoding/json.Marshal main.f":                                       "codec=json/experiment=jsonv2",
		"github.com/goccy/go-json/internal/decoder.skipValue github.com/goccy/go-json/internal/decoder.(*interfaceDecoder).Decode main.f":          intoAny,
		"decode_value decode_main.Order github.com/bytedance/sonic.Unmarshal main.f":                                                               intoAny,
		"shop/pb.(*Order).pbfastDecode@/src/shop/order_pbfast.pb.go google.golang.org/protobuf/proto.Unmarshal main.f":                             "codec=pbfast/hook=yes",
		"shop/pb.(*Order).pbfastDecode@/src/shop/order_pbfast.pb.go postage/pbfast/pbfastgrpc.codec.Unmarshal google.golang.org/grpc.recv main.f":  "codec=pbfast",
	} {
		s := summaryOf(t, sourceOf(t, stacks("cpu", "5 "+stack)))
		if len(s.Sites) != 1 || s.Sites[0].Now != want {
			t.Errorf("%s\n  got %+v, want %s", stack, s.Sites, want)
		}
	}
}

// Collections are shared out by bytes allocated, assists stay where they stand, and nothing is
// lost: all parts add up to 1.
func TestGarbage(t *testing.T) {
	cpu := sourceOf(t, stacks("cpu", "300 encoding/json.Unmarshal main.f", "100 main.f", "90 runtime.gcBgMarkWorker",
		"10 runtime.gcAssistAlloc runtime.mallocgc encoding/json.Unmarshal main.f"))
	allocs := sourceOf(t, stacks("allocs", "200 encoding/json.Unmarshal main.f", "100 main.f"))
	s := summaryOf(t, cpu, allocs)
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	near("messages", s.Messages.Value, 0.6)
	near("garbage", s.Garbage.Value, 0.2)
	near("garbage of JSON", *s.Sites[0].Garbage, (60+10)/500.0)
	near("garbage of messages", *s.MessagesGarbage, 0.7)
	near("all", s.Messages.Value+s.Garbage.Value+s.Own.Value+s.Others.Value+s.Runtime.Value+s.Unknown.Value, 1)
	near("cores", *s.Cores, 5)
	if s := summaryOf(t, cpu); s.MessagesGarbage != nil || s.Sites[0].Garbage != nil {
		t.Error("without a profile of allocations, garbage was shared out")
	}
}

// Ten samples are enough for an answer, whose interval says how little that is; hundreds of
// thousands have a narrow one.
func TestSamples(t *testing.T) {
	many := summaryOf(t, sourceOf(t, stacks("cpu", "79534 encoding/json.Unmarshal main.f", "720466 main.f"))).Messages
	if math.Abs(many.Low-0.09876) > 1e-4 || math.Abs(many.High-0.10007) > 1e-4 {
		t.Errorf("a tenth of 800,000 samples: %v", many)
	}
	s := summaryOf(t, sourceOf(t, stacks("cpu", "5 encoding/json.Unmarshal main.f", "5 main.f")))
	if m := s.Messages; m.Value != 0.5 || m.Low > 0.2 || m.High < 0.8 {
		t.Errorf("half of 10 samples: %v", m)
	}
}

// Kubernetes' serializers own what they have other libraries do, and no row of a message measures that.
func TestSerializers(t *testing.T) {
	for stack, want := range map[string]string{
		"encoding/json.(*encodeState).marshal encoding/json.(*Encoder).Encode k8s.io/apimachinery/pkg/runtime/serializer/json.(*Serializer).doEncode":    "apply encode JSON ",
		"sigs.k8s.io/json.UnmarshalCaseSensitivePreserveInts k8s.io/apimachinery/pkg/runtime/serializer/json.(*Serializer).Decode":                       "apply decode JSON ",
		"k8s.io/api/core/v1.(*Pod).Unmarshal@k8s.io/api@v0.36.3/core/v1/generated.pb.go k8s.io/apimachinery/pkg/runtime/serializer/protobuf.(*S).Decode": "apply decode protobuf ",
		"github.com/fxamacker/cbor/v2.Marshal k8s.io/apimachinery/pkg/runtime/serializer/cbor.(*serializer).Encode":                                      "apply encode CBOR ",
		"encoding/json.Marshal k8s.io/client-go/rest.(*Request).Body":                                                                                    "encode encode JSON codec=json",
	} {
		s := summaryOf(t, sourceOf(t, stacks("cpu", "5 "+stack)))
		if got := s.Sites[0].Stage + " " + s.Sites[0].String() + " " + s.Sites[0].Now; got != want {
			t.Errorf("%s: %s, want %s", stack, got, want)
		}
	}
}

// What decodes into any by a quarter of its time is not predicted by rows of structs.
func TestIntoAny(t *testing.T) {
	for n, want := range map[int]bool{2: true, 3: false} {
		s := summaryOf(t, sourceOf(t, stacks("cpu", fmt.Sprint(n, " encoding/json.(*decodeState).objectInterface encoding/json.(*Decoder).Decode main.f"),
			fmt.Sprint(12-n, " encoding/json.(*Decoder).readValue encoding/json.(*Decoder).Decode main.f"))))
		s.Predict(must(NewOwners()), mine(), false)
		if site := s.Sites[0]; want != (len(site.Savings) == 1) || want != (site.Unpredicted == "") || want != (site.Check != "") {
			t.Errorf("%d of 12: %+v", n, s.Sites)
		}
	}
}

// A user's lines are read after Postage's, and errors say where.
func TestOwnersOfTheUser(t *testing.T) {
	table := must(NewOwners())
	if err := table.Add("mine", strings.NewReader("# ours\nexample.com/wire encode wire* codec=wire\n")); err != nil {
		t.Fatal(err)
	}
	s, err := Summarize(table, []*Source{sourceOf(t, stacks("cpu", "5 example.com/wire/inner.put example.com/wire.Marshal main.f"))})
	if err != nil || len(s.Sites) != 1 || s.Sites[0].String() != "encode wire" {
		t.Errorf("%+v, %v", s, err)
	}
	for _, bad := range []string{"a/b", "a/b nostage x", "a/b encode", "a b c d e"} {
		if err := table.Add("mine", strings.NewReader("\n"+bad)); err == nil || !strings.HasPrefix(err.Error(), "mine:2: want: path") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// A profile of another language's program is not taken for the user's own code.
func TestOfGo(t *testing.T) {
	for _, name := range []string{"LazyCompile:*fib", "java/util/concurrent/locks/LockSupport.unpark", "main@/app/main.js"} {
		p := stacks("cpu", "20 "+name)
		p.Function = p.Function[:1]
		var out bytes.Buffer
		if err := p.Write(&out); err != nil {
			t.Fatal(err)
		}
		_, err := Read("test", &out)
		wanted := "test: not of a Go program, or without its symbols: none of its functions is of a Go file or of Go's runtime; one is "
		if err == nil || !strings.HasPrefix(err.Error(), wanted) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p := stacks("cpu", "20 main.main@/app/main.go")
	p.Function = p.Function[:1]
	sourceOf(t, p)
}

// The kinds of profiles that exporters write are recognised, and others refused by name.
func TestKinds(t *testing.T) {
	for _, c := range []struct {
		types []profile.ValueType
		want  string
	}{
		{[]profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}, "cpu 1"},
		{[]profile.ValueType{{Type: "cpu-samples", Unit: "count"}, {Type: "cpu-time", Unit: "nanoseconds"}}, "cpu 1"},
		{[]profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, "cpu 0"},
		{[]profile.ValueType{{Type: "cycles:P_sample", Unit: "count"}, {Type: "cycles:P_event", Unit: "count"}}, "cpu 1 untimed"},
		{[]profile.ValueType{{Type: "cpu-clock_sample", Unit: "count"}, {Type: "cpu-clock_event", Unit: "count"}}, "cpu 1"},
		{[]profile.ValueType{{Type: "samples", Unit: "count"}}, "cpu 0 untimed"},
		{[]profile.ValueType{{Type: "alloc-samples", Unit: "count"}, {Type: "alloc-space", Unit: "bytes"}}, "allocs 1"},
		{[]profile.ValueType{{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"}, {Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}}, "allocs 1"},
		{[]profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "time", Unit: "nanoseconds"}}, "test: a profile of samples, time: want one of CPU time or of allocations"}, // fgprof: of waiting too
		{[]profile.ValueType{{}}, "test: a profile of nothing that it names: want one of CPU time or of allocations"},
		{[]profile.ValueType{{Type: "contentions", Unit: "count"}, {Type: "delay", Unit: "nanoseconds"}}, "test: a profile of contentions, delay: want one of CPU time or of allocations"},
	} {
		p := &profile.Profile{}
		for i := range c.types {
			p.SampleType = append(p.SampleType, &c.types[i])
		}
		s := &Source{Name: "test", pprof: p, count: -1}
		got := ""
		if err := s.kind(); err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint([]string{"cpu", "allocs"}[s.Kind], " ", s.value)
			if s.Kind == CPU && !s.timed {
				got += " untimed"
			}
		}
		if got != c.want {
			t.Errorf("%v: %s, want %s", c.types, got, c.want)
		}
	}
}

// Input that would take too much memory is refused before it is taken.
func TestBounds(t *testing.T) {
	var zipped, zstandard bytes.Buffer
	z, err := zstd.NewWriter(&zstandard, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	g := gzip.NewWriter(&zipped)
	for range mostBytes>>20 + 1 {
		if _, err := io.MultiWriter(g, z).Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(g.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Read("x", &zstandard); err == nil || !strings.Contains(err.Error(), "more than 512 MB") {
		t.Error(err)
	}
	for want, input := range map[string][]byte{
		"more than 512 MB":                          zipped.Bytes(),
		"it would take more than 2048 MB of memory": bytes.Repeat([]byte{0x12, 0}, 12<<20), // empty samples
		"not a profile in pprof's format":           []byte("hello"),
		"gperftools' binary format":                 {8: 3, 32: 1},
		"cut short":                                 {0x12, 200, 1, 1},
	} {
		if _, err := Read("x", bytes.NewReader(input)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A profile of 100 MB is read in bounded memory. How long it takes is printed.
func TestLargeProfile(t *testing.T) {
	if os.Getenv("POSTAGE_LONG") == "" {
		t.Skip("makes a profile of 100 MB: POSTAGE_LONG=1 runs it")
	}
	p := stacks("cpu")
	p.Function = nil
	draw := rand.New(rand.NewPCG(1, 2))
	for i := range 100_000 {
		fn := &profile.Function{
			ID: uint64(i + 1), Name: fmt.Sprintf("example.com/shop/orders.(*Server).handle%d", i),
			Filename: fmt.Sprintf("/src/shop/orders/%d.go", i/100),
		}
		if i%10 == 0 {
			fn.Name, fn.Filename = "encoding/json.decode"+fmt.Sprint(i), "/usr/local/go/src/encoding/json/decode.go"
		}
		p.Function = append(p.Function, fn)
		p.Location = append(p.Location, &profile.Location{
			ID: fn.ID, Line: []profile.Line{{Function: fn, Line: int64(i)}},
		})
	}
	for range 800_000 {
		stack := make([]*profile.Location, 40)
		for i := range stack {
			stack[i] = p.Location[draw.IntN(len(p.Location))]
		}
		p.Sample = append(p.Sample, &profile.Sample{Location: stack, Value: []int64{1, 1e7}})
	}
	file := filepath.Join(t.TempDir(), "large.pprof")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.WriteUncompressed(out), out.Close()); err != nil {
		t.Fatal(err)
	}
	p = nil
	debug.FreeOSMemory()
	size, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	begin := time.Now()
	source, err := Read("large", in)
	if err != nil {
		t.Fatal(err)
	}
	s := summaryOf(t, source)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("%d MB, %d samples: %.1f s, %d MB in use at the end", size.Size()>>20, s.Samples, time.Since(begin).Seconds(), (m.Sys-m.HeapReleased)>>20)
	if size.Size() < 100<<20 || s.Samples != 800_000 || s.Messages.Value < 0.05 || m.Sys-m.HeapReleased > mostMemory {
		t.Errorf("%d bytes, %d samples, messages %v, %d MB", size.Size(), s.Samples, s.Messages, (m.Sys-m.HeapReleased)>>20)
	}
}

// No input makes reading and adding up panic, or print what a terminal obeys.
func FuzzRead(f *testing.F) {
	for _, p := range []*profile.Profile{
		stacks("cpu", "5 encoding/json.Unmarshal main.f", "1 a%2eb.c[d/e.f] .x y. @ runtime.gcBgMarkWorker"),
		stacks("allocs", "5 shop.(*Order).UnmarshalVT@x.pb.go main.f"),
	} {
		var out bytes.Buffer
		if err := p.WriteUncompressed(&out); err != nil {
			f.Fatal(err)
		}
		f.Add(out.Bytes())
	}
	table := must(NewOwners())
	f.Fuzz(func(t *testing.T, text []byte) {
		source, err := Read("x", bytes.NewReader(text))
		if err != nil {
			return
		}
		s, err := Summarize(table, []*Source{source, source})
		if err != nil {
			return
		}
		s.Predict(table, mine(), true)
		for _, site := range s.Sites {
			if name := site.Function + site.Message + site.Library; strings.ContainsAny(name, "\x1b\n\r\x00\u009b") {
				t.Errorf("%q", name)
			}
		}
	})
}
