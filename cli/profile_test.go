package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	httppprof "net/http/pprof"
	"os"
	"path/filepath"
	runtimepprof "runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"postage/internal/feature/profile"
	"postage/internal/sys/machine"
	"postage/internal/test/recordtest"
	"postage/record"
)

// A server that does nothing but decode JSON is profiled, with its allocations and with a header
// field; saved profiles give the same, and compared with themselves nothing moved.
func TestProfileServer(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/profile", httppprof.Profile)
	mux.Handle("/debug/pprof/allocs", httppprof.Handler("allocs"))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "k" {
			http.Error(w, "who are you?", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	defer server.Close()
	text, err := json.Marshal(make([]struct{ A, B, C string }, 1000))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	defer func() { done <- struct{}{} }()
	go func() {
		for {
			select {
			case <-done:
				return
			default:
				var v []struct{ A, B, C string }
				_ = json.Unmarshal(text, &v)
			}
		}
	}()
	run := func(args ...string) (string, string, int) {
		var out, said bytes.Buffer
		code := postage.run(t.Context(), append([]string{"profile"}, args...), strings.NewReader(""), &out, &said)
		return out.String(), said.String(), code
	}
	if _, said, code := run(server.URL, "--seconds", "1"); code != exitUsage || !strings.Contains(said, `403 Forbidden: "who are you?`) {
		t.Errorf("without its header: %d: %s", code, said)
	}
	var s profile.Summary
	var out, said string
	var code int
	seconds := 1
	for s.Samples < 20 && seconds < 16 { // a busy machine gives the server few
		seconds *= 2
		s = profile.Summary{}
		out, said, code = run(server.URL, "--seconds", strconv.Itoa(seconds), "-H", "X-Key: k", "--json")
		err = json.Unmarshal([]byte(out), &s)
	}
	if code != exitOK || err != nil {
		t.Fatalf("%d: %v: %s", code, err, said)
	}
	if s.Samples < 20 || len(s.Sites) == 0 || s.Sites[0].String() != "decode JSON" || s.Sites[0].Garbage == nil {
		t.Errorf("%d samples, sites %+v", s.Samples, s.Sites)
	}
	if site := s.Sites[0]; len(site.Savings) > 0 || site.Check != "postage bring postage/cli --type TYPE --sample FILE" {
		t.Errorf("without a record: %+v", site)
	}
	file := filepath.Join(t.TempDir(), "cpu.pprof")
	saveProfile(t, fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", server.URL, seconds), file)
	if out, said, code = run(file); code != exitOK || !strings.Contains(out, "decode JSON") || !strings.Contains(out, "shared out: that takes") {
		t.Errorf("%d: %s%s", code, out, said)
	}
}

// What is no profile, or not the right one, is told in words that say what to do.
func TestProfileWrongInput(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/page/", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<!DOCTYPE html>\n<title>log in</title>"))
	})
	mux.HandleFunc("/debug/pprof/profile", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(cpuProfile(t, "main.f")) })
	mux.HandleFunc("/debug/pprof/allocs", func(w http.ResponseWriter, _ *http.Request) { _ = runtimepprof.Lookup("allocs").WriteTo(w, 0) })
	mux.HandleFunc("/gone/", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte("<html>\n<body>\nnothing here</body>"))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	t.Chdir(t.TempDir())
	var heap, idle bytes.Buffer
	none := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}}}
	if err := errors.Join(runtimepprof.Lookup("heap").WriteTo(&heap, 0), none.Write(&idle)); err != nil {
		t.Fatal(err)
	}
	good := cpuProfile(t, "main.f")
	for name, text := range map[string][]byte{"empty": {}, "page": []byte("\n<html><p>hello"), "text": []byte("goroutine profile: total 7\n1 @ 0x43"), "heap": heap.Bytes(), "idle": idle.Bytes(), "cut": good[:len(good)-9], "good": good, "bare": cpuProfile(t, "")} {
		if err := os.WriteFile(name, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	other := &record.Record{Run: record.Run{Version: record.Version}, Machine: machine.Read(0)}
	if err := other.Save("other.txt"); err != nil {
		t.Fatal(err)
	}
	if got := secondsOf([]string{"http://a/debug/pprof/profile?seconds=90", "good"}, 30); got != 90 {
		t.Errorf("a profile of 90 s is waited for for %d", got)
	}
	for args, want := range map[string]string{
		"good --with other.txt":            "--with other.txt: it has no rows with intervals that encode",
		"empty":                            "empty: it is empty",
		"page":                             `page: text, not a profile in pprof's format: it begins "<html><p>hello"`,
		"text":                             `it begins "goroutine profile: total 7"`,
		"heap":                             "heap: of allocations alone",
		"cut":                              "cut: it is cut short",
		"idle":                             "no samples of CPU time: profile for longer, or under load",
		"bare":                             "no function names",
		"localhost:6060":                   "hint: a server's URL begins with http:// or https://",
		"good --any-format":                "--any-format is for the changes that --with lists",
		"good --seconds 0":                 "--seconds: want at least 1",
		server.URL + "/page":               `text, not a profile in pprof's format: it begins "<!DOCTYPE html>"`,
		server.URL + "/gone":               `404 Not Found: "<html>"` + "\nhint: the server must import net/http/pprof",
		server.URL + "/debug/pprof/":       "Of 0.1 cores messages take",
		server.URL + "/debug/pprof/allocs": "of allocations alone",
	} {
		var out, said bytes.Buffer
		code := postage.run(t.Context(), append([]string{"profile"}, strings.Fields(args)...), strings.NewReader(""), &out, &said)
		if all := out.String() + said.String(); !strings.Contains(strings.Join(strings.Fields(all), " "), strings.Join(strings.Fields(want), " ")) || strings.Count(all, "404") > 1 {
			t.Errorf("%s: %d, want %q:\n%s", args, code, want, all)
		}
	}
}

// Ctrl-C ends the wait for a server's profile as it ends any other command.
func TestProfileInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	var out, said bytes.Buffer
	if code := postage.run(ctx, []string{"profile", server.URL}, strings.NewReader(""), &out, &said); code != exitInterrupted || strings.Contains(said.String(), "cancel") {
		t.Errorf("exit %d: %s%s", code, &out, &said)
	}
}

// cpuProfile is a profile of ten seconds at a rate of 100, all in one function.
func cpuProfile(t *testing.T, name string) []byte {
	t.Helper()
	fn := &pprof.Function{ID: 1, Name: name}
	at := &pprof.Location{ID: 1, Line: []pprof.Line{{Function: fn}}}
	cpu := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, DurationNanos: 1e10, Function: []*pprof.Function{fn, {ID: 2, Name: "runtime.main"}}, Location: []*pprof.Location{at}, Sample: []*pprof.Sample{{Value: []int64{1e9}, Location: []*pprof.Location{at}}}}
	var text bytes.Buffer
	if err := cpu.Write(&text); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// Ratios are of the record that is named; a library of the user's own is known by --owners.
func TestProfileRatios(t *testing.T) {
	t.Chdir(t.TempDir())
	made := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 10}
	if err := errors.Join(made.Record().Save("mine.txt"), os.WriteFile("cpu.pprof", cpuProfile(t, "example.com/wire.Marshal"), 0o666),
		os.WriteFile("owners.txt", []byte("example.com/wire encode wire* codec=base\nexample.com/fast encode wire* codec=a\n"), 0o666)); err != nil {
		t.Fatal(err)
	}
	code, out, said := command("profile", "--owners", "owners.txt", "--json", "cpu.pprof", "--with", "mine.txt")
	var s profile.Summary
	if err := json.Unmarshal([]byte(out), &s); code != exitOK || err != nil || len(s.Sites) != 1 || len(s.Sites[0].Savings) == 0 {
		t.Fatalf("%d: %v: %s%s", code, err, out, said)
	}
	if x := s.Sites[0].Savings[0]; x.Cores == nil || x.Contender != "codec=a" || math.Abs(x.Saves.Value-0.7) > 0.05 {
		t.Errorf("%+v", x)
	}
}

// A server behind TLS that asks for a certificate, a field and a name gets them, and one whose
// certificate nobody knows is refused.
func TestProfileTLS(t *testing.T) {
	text := cpuProfile(t, "encoding/json.Unmarshal")
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS.PeerCertificates[0].SerialNumber.Int64() != 17 || r.Header.Get("X-Key") != "k" || r.Host != "orders" {
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = w.Write(text)
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	defer server.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	f := certificateFlags(t)
	key, fields := []string{"--cert", f.cert, "--key", f.key}, []string{"-H", "X-Key: k", "-H", "Host: orders"}
	for _, c := range []struct {
		args []string
		said string
	}{
		{slices.Concat(key, fields, []string{"--ca", ca}), ""},
		{slices.Concat(key, fields, []string{"--insecure"}), ""},
		{slices.Concat(key, fields), "certificate signed by unknown authority"},
		{slices.Concat(key, []string{"--ca", ca}), "403 Forbidden"},
		{slices.Concat(fields, []string{"--ca", ca}), "certificate required"},
	} {
		var out, said bytes.Buffer
		code := postage.run(t.Context(), append([]string{"profile", server.URL + "/debug/pprof/profile"}, c.args...), strings.NewReader(""), &out, &said)
		if code == exitOK != (c.said == "") || !strings.Contains(said.String(), c.said) || code == exitOK && !strings.Contains(out.String(), "are few") {
			t.Errorf("%v: %d: %s%s", c.args, code, &out, &said)
		}
	}
}

func saveProfile(t *testing.T, url, file string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Key", "k")
	response, err := (&http.Client{Timeout: time.Minute}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(response.Body); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}
