package profile

import (
	"go/build"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Profiles that exporters' own libraries wrote of one program, which decodes and encodes JSON in
// main.handle, say so: testdata/README.md tells how they were made.
func TestExporters(t *testing.T) {
	for _, name := range []string{"pyroscope", "datadog"} {
		files, err := filepath.Glob("testdata/" + name + "*.pprof")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", name, files, err)
		}
		var sources []*Source
		for _, file := range files {
			sources = append(sources, opened(t, file))
		}
		s := summaryOf(t, sources...)
		if s.Samples < 100 || s.CPUSeconds < 1 || s.CPUSeconds > 60 || s.Unknown.Value > 0.05 {
			t.Errorf("%s: %d samples, %v s, not attributed %v", name, s.Samples, s.CPUSeconds, s.Unknown)
		}
		found := ""
		for _, site := range s.Sites {
			if site.Function == "main.handle" && site.Library == "encoding/json" && site.Share.Value > 0.1 && site.Now == "codec=json" {
				found += site.Does + " "
			}
			if site.Garbage == nil {
				t.Errorf("%s: %+v", name, site)
			}
		}
		if found != "decode encode " && found != "encode decode " {
			t.Errorf("%s: found %q: %+v", name, found, s.Sites)
		}
	}
}

// Go's compiler has a default.pgo, as `go tool pprof -proto` merges it.
func TestPGO(t *testing.T) {
	file := filepath.Join(build.Default.GOROOT, "src/cmd/compile/default.pgo")
	if _, err := os.Stat(file); err != nil {
		t.Skip(err)
	}
	s := summaryOf(t, opened(t, file))
	if s.Samples < 10_000 || s.Unknown.Value > 0.01 || len(s.Libraries) == 0 || !strings.HasPrefix(s.Libraries[0].Operation, "cmd/") || s.Libraries[0].Share.Value < 0.3 {
		t.Errorf("%d samples, not attributed %v, libraries %+v", s.Samples, s.Unknown, s.Libraries)
	}
}

func opened(t *testing.T, file string) *Source {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := Read(file, f)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
