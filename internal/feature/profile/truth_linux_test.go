package profile

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/structpb"
)

// cpuTime is what the thread or the process has used, by its clock: what getrusage says of a thread is as
// of the last tick.
func cpuTime(clock int32) time.Duration {
	var u unix.Timespec
	if err := unix.ClockGettime(clock, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Nano())
}

// busy is a user's type that works in its MarshalJSON.
type busy struct {
	spent time.Duration
	kept  []byte
}

func (b *busy) MarshalJSON() ([]byte, error) {
	begin := cpuTime(unix.CLOCK_THREAD_CPUTIME_ID)
	spin(200_000)
	b.spent += cpuTime(unix.CLOCK_THREAD_CPUTIME_ID) - begin
	return []byte("1"), nil
}

// spin is the user's own work.
func spin(n int) (sum float64) {
	for i := range n {
		sum += math.Sqrt(float64(i))
	}
	return sum
}

// A program spends known shares of its CPU time, as its own clock says: the profile is within two
// points of each, beyond sampling, of its collections, and of whom they are for. (What the runtime
// says of collections is wall time, and more on a busy machine.)
func TestKnownShares(t *testing.T) {
	if os.Getenv("POSTAGE_LONG") == "" {
		t.Skip("profiles for half a minute: POSTAGE_LONG=1 runs it")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	kept := make([]*structpb.Value, 50_000) // for collections to mark
	for i := range kept {
		kept[i] = structpb.NewStringValue("kept")
	}
	document, _ := json.Marshal(map[string]any{"names": make([]struct{ A, B, C string }, 200)})
	message, err := proto.Marshal(&descriptorpb.FileDescriptorProto{Dependency: make([]string, 500), MessageType: make([]*descriptorpb.DescriptorProto, 50)})
	if err != nil {
		t.Fatal(err)
	}
	var own busy
	type part struct {
		name  string
		want  float64
		do    func() error
		spent time.Duration
		bytes float64
	}
	parts := []*part{
		{name: "decode JSON", want: 0.3, do: func() error {
			var v struct{ Names []struct{ A, B, C string } }
			return json.Unmarshal(document, &v)
		}},
		{name: "decode protobuf", want: 0.2, do: func() error { return proto.Unmarshal(message, &descriptorpb.FileDescriptorProto{}) }},
		{name: "encode gzip", want: 0.1, do: func() error {
			w := gzip.NewWriter(io.Discard)
			_, _ = w.Write(document)
			return w.Close()
		}},
		{name: "MarshalJSON", want: 0.15, do: func() error { _, err := json.Marshal(&own); return err }},
		{name: "own code", want: 0.25, do: func() error { spin(100_000); own.kept = make([]byte, 64<<10); return nil }},
	}
	runtime.GC()
	var earlier, allocs bytes.Buffer // the profile of allocations is since the process began
	if err := pprof.Lookup("allocs").WriteTo(&earlier, 0); err != nil {
		t.Fatal(err)
	}
	allocated, all, thread := read("/gc/heap/allocs:bytes"), cpuTime(unix.CLOCK_PROCESS_CPUTIME_ID), cpuTime(unix.CLOCK_THREAD_CPUTIME_ID)
	var cpu bytes.Buffer
	if err := pprof.StartCPUProfile(&cpu); err != nil {
		t.Fatal(err)
	}
	var sum time.Duration
	for sum < 30*time.Second {
		next := parts[0]
		for _, p := range parts[1:] {
			if float64(p.spent)/p.want < float64(next.spent)/next.want {
				next = p
			}
		}
		begin, bytes := cpuTime(unix.CLOCK_THREAD_CPUTIME_ID), read("/gc/heap/allocs:bytes")
		for range 1 + rand.IntN(40) { // profiling has a beat of its own
			if err := next.do(); err != nil {
				t.Fatal(err)
			}
		}
		spent := cpuTime(unix.CLOCK_THREAD_CPUTIME_ID) - begin
		next.spent, sum, next.bytes = next.spent+spent, sum+spent, next.bytes+read("/gc/heap/allocs:bytes")-bytes
	}
	pprof.StopCPUProfile()
	all, thread = cpuTime(unix.CLOCK_PROCESS_CPUTIME_ID)-all, cpuTime(unix.CLOCK_THREAD_CPUTIME_ID)-thread
	if err := pprof.Lookup("allocs").WriteTo(&allocs, 0); err != nil {
		t.Fatal(err)
	}
	runtime.KeepAlive(kept)
	one, err := Read("cpu", &cpu)
	if err != nil {
		t.Fatal(err)
	}
	two, err := Read("allocs", &allocs)
	if err != nil {
		t.Fatal(err)
	}
	before, err := Read("earlier", &earlier)
	if err != nil {
		t.Fatal(err)
	}
	before.pprof.Scale(-1)
	if two.pprof, err = profile.Merge([]*profile.Profile{before.pprof, two.pprof}); err != nil {
		t.Fatal(err)
	}
	s := summaryOf(t, one, two)
	found := map[string]float64{}
	table := must(NewOwners())
	a := &attributor{table: table, others: map[string]*Owner{}, frames: map[*profile.Function]*frame{}}
	for _, sample := range one.pprof.Sample { // with assists, which are within what the clock says too
		p, _ := a.place(a.stack(sample))
		name := truthName(&p)
		found[name] += float64(sample.Value[1]) / s.total
	}
	truth := map[string]float64{
		"in the background": (all - thread).Seconds() / all.Seconds(),
		"own code":          own.spent.Seconds() / all.Seconds(),
	}
	for _, p := range parts {
		if p.name == "MarshalJSON" {
			truth["encode JSON"] = (p.spent - own.spent).Seconds() / all.Seconds()
			continue
		}
		truth[p.name] += p.spent.Seconds() / all.Seconds()
	}
	ofMessages := parts[0].bytes + parts[1].bytes + parts[2].bytes
	truth["garbage of messages"] = ofMessages / (read("/gc/heap/allocs:bytes") - allocated)
	found["garbage of messages"] = *s.MessagesGarbage
	// Where processors are short, a thread waits with a timer that has ended, and of several ends
	// one is sampled: a sixth are lost beside four other processes, which can all be of one part.
	lost := max(0, 1-s.samples*time.Duration(one.pprof.Period).Seconds()/all.Seconds())
	for name, want := range truth {
		t.Logf("%-20s truth %.3f  profile %.3f", name, want, found[name])
		sampling := 2 * math.Sqrt(want*(1-want)/s.samples)
		if math.Abs(found[name]-want) > 0.02+sampling+lost {
			t.Errorf("%s: %.3f of all, want %.3f within two points, sampling's %.3f and %.3f of samples that were lost", name, found[name], want, sampling, lost)
		}
	}
	t.Logf("runtime %.3f, not attributed %.3f, %d samples, %.3f lost", s.Runtime.Value, s.Unknown.Value, s.Samples, lost)
}

// truthName is the name of a place among the shares that are known.
func truthName(p *place) string {
	switch p.kind {
	case owned:
		return p.key().String()
	case own:
		return "own code"
	case collector, scheduler:
		return "in the background"
	}
	return "not attributed"
}

// read is a figure of the runtime's.
func read(name string) float64 {
	sample := []metrics.Sample{{Name: name}}
	if metrics.Read(sample); sample[0].Value.Kind() == metrics.KindUint64 {
		return float64(sample[0].Value.Uint64())
	}
	return sample[0].Value.Float64()
}
