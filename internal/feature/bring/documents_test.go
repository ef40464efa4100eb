package bring

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func documents(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// A part is a place as notes print it. What is there comes with its line.
func TestPart(t *testing.T) {
	path := documents(t, "d.json", `{"kind": "List", "items": [
  {"a.b": {"c": 1}, "n": null},
  {"a.b": {"c": 2}, "a": {"b": {"c": 3}}}],
 "paths": {"/x": {"get": [1]},
  "/y.z": {"get": 2, "put": 3}}}
[{"items": {"a": {"b": {"c": 4}}}}]`)
	for part, want := range map[Part]string{
		"kind":          `1 "List"`,
		"items":         `2 {"a.b": {"c": 1}, "n": null}, 3 {"a.b": {"c": 2}, "a": {"b": {"c": 3}}}, 6 {"a": {"b": {"c": 4}}}`,
		"items[].a.b":   `2 {"c": 1}, 3 {"c": 2}, 3 {"c": 3}, 6 {"c": 4}`,
		"items.a.b.c":   `2 1, 3 2, 3 3, 6 4`,
		"items.n":       `2 null`,
		"paths.*.get":   `4 1, 5 2`,
		"paths./y.z":    `5 {"get": 2, "put": 3}`,
		"paths./y.z.*":  `5 2, 5 3`,
		"kind.deeper":   ``,
		"nowhere.items": ``,
	} {
		var got []string
		err := eachJSON(path, part, func(line int, raw []byte) error {
			got = append(got, fmt.Sprintf("%d %s", line, raw))
			return nil
		})
		if err != nil || strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, %v; want %q", part, got, err, want)
		}
	}
	if _, err := Infer(path, "items.x", false); err == nil || err.Error() != path+": there is nothing at items.x in it" {
		t.Error(err)
	}
	s, err := Infer(path, "items[].a.b", false)
	if err != nil {
		t.Fatal(err)
	}
	md, err := s.Message("")
	if err != nil || md.Name() != "DItemsAB" {
		t.Errorf("%v, %v", md, err)
	}
	n, err := Normalise(md)
	if err != nil {
		t.Fatal(err)
	}
	samples, err := s.ReadSamples([]string{path}, "items[].a.b", md, n)
	if err != nil || !strings.HasPrefix(samples.String(), "4 samples: 2 B to 2 B") {
		t.Errorf("%s, %v", samples, err)
	}
}

// Of very many samples some are kept, the same ones each time, so that memory does not grow with
// the file.
func TestManySamplesInBoundedMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d.ndjson")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100_000 {
		fmt.Fprintf(file, "{\"n\": %d, \"text\": %q}\n", i, strings.Repeat("x", 500))
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Infer(path, "", false)
	if err != nil {
		t.Fatal(err)
	}
	md, err := s.Message("")
	if err != nil {
		t.Fatal(err)
	}
	n, err := Normalise(md)
	if err != nil {
		t.Fatal(err)
	}
	samples, err := s.ReadSamples([]string{path}, "", md, n)
	if want := "100,000 samples, 8192 of them kept, drawn at random: "; err != nil || !strings.HasPrefix(samples.String(), want) {
		t.Errorf("%s, %v", samples, err)
	}
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	if memory.HeapAlloc > 40<<20 { // the file has 52 MB
		t.Errorf("%d MB live", memory.HeapAlloc>>20)
	}
	runtime.KeepAlive(samples)
}

// Of samples that are large, as many are kept as fit, but one at least.
func TestLargeSamplesInBoundedMemory(t *testing.T) {
	for size, want := range map[int]int{2 << 20: 32, 200 << 20: 1} {
		data := make([]byte, size)
		var digests []string
		for range 2 {
			s := new(Samples)
			for range 100 {
				s.keep("", data)
			}
			if _, err := s.done(nil, ""); err != nil || len(s.kept) != want || s.bytes != want*size {
				t.Errorf("%d of %d bytes are kept, want %d: %v", len(s.kept), s.bytes, want, err)
			}
			places := ""
			for _, kept := range s.kept {
				places += fmt.Sprint(kept.index, " ")
			}
			digests = append(digests, places)
		}
		if digests[0] != digests[1] {
			t.Errorf("other samples each time: %s", digests)
		}
	}
}
