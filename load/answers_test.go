package load

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// A visitor logs in and then uses what it was told: its cookie, a token and a header, in the order
// of the requests.
func TestLogin(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/login" {
			id := fmt.Sprint(time.Now().UnixNano())
			http.SetCookie(w, &http.Cookie{Name: "sid", Value: id})
			w.Header().Set("X-Csrf", "c"+id)
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			_ = json.NewEncoder(w).Encode(map[string]any{"user": map[string]any{"token": "t" + id}})
			return
		}
		sid, err := r.Cookie("sid")
		body, _ := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Authorization") != "Bearer t"+sid.Value || string(body) != `{"csrf":"c`+sid.Value+`"}` || r.URL.Query().Get("s") != sid.Value {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	requests := []Request{
		{Method: "POST", URL: parsed(t, server.URL+"/login")},
		{
			Method: "POST", URL: parsed(t, server.URL+"/account?s={{.cookie.sid}}"), Body: []byte(`{"csrf":"{{.header.X-Csrf}}"}`),
			Header: http.Header{"Authorization": {"Bearer {{ .json.user.token }}"}},
		},
	}
	target := &Target{Proto: "http1", Conns: 10, Streams: 1, Cookies: true, Requests: requests}
	pool := opened(t, target)
	r, err := Run(t.Context(), Plan{Pacer: Constant{200, time.Second}, Lines: pool.Lines})
	if err != nil || r.Done != 200 || r.Failed() > 0 {
		t.Errorf("%v: %d answers, %v", err, r.Done, r.Errors)
	}
	target.Cookies = false
	if _, err := Open(t.Context(), target); err == nil || !strings.Contains(err.Error(), "--cookies") {
		t.Errorf("values of answers without visitors: %v", err)
	}
}

// A status of 200 is a failure where the body says so.
func TestExpectedBody(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"errors":[{}]}`) }))
	defer server.Close()
	for text, want := range map[string]string{"body!~errors": "the body matches errors", "body~data": "the body does not match data", "body~errors": ""} {
		check, is, err := ParseBody(text)
		if !is || err != nil {
			t.Fatal(text, is, err)
		}
		pool := opened(t, &Target{Proto: "http1", Conns: 1, Streams: 1, Body: check, Request: Request{URL: parsed(t, server.URL)}})
		if err := once(pool); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, is, err := ParseBody("body~("); !is || err == nil {
		t.Error("a wrong expression is accepted")
	}
}

// A method is found in a file with imports, and in a descriptor set.
func TestProtoFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"api/v1/s.proto":    `syntax = "proto3"; package api.v1; import "common/m.proto"; service S { rpc Call(common.M) returns (common.M); }`,
		"common/m.proto":    `syntax = "proto3"; package common; import "google/protobuf/timestamp.proto"; message M { google.protobuf.Timestamp at = 1; }`,
		"set/not-a-set.bin": "\xff",
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	find := func(file string, paths ...string) error {
		_, err := findMethod(t.Context(), &Target{RPC: "api.v1.S/Call", ProtoFile: filepath.Join(folder, file), ProtoPaths: paths})
		return err
	}
	if err := find("api/v1/s.proto", folder); err != nil {
		t.Error(err)
	}
	if err := find("api/v1/s.proto"); err == nil {
		t.Error("an import is found nowhere")
	}
	if err := find("set/not-a-set.bin"); err == nil || !strings.Contains(err.Error(), "neither a .proto file nor a descriptor set") {
		t.Error(err)
	}
	stamp := protodesc.ToFileDescriptorProto(timestamppb.File_google_protobuf_timestamp_proto)
	set := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{stamp, {
		Name: proto.String("s.proto"), Package: proto.String("api.v1"), Dependency: []string{stamp.GetName()}, Syntax: proto.String("proto3"),
		Service: []*descriptorpb.ServiceDescriptorProto{{Name: proto.String("S"), Method: []*descriptorpb.MethodDescriptorProto{{
			Name: proto.String("Call"), InputType: proto.String(".google.protobuf.Timestamp"), OutputType: proto.String(".google.protobuf.Timestamp"),
		}}}},
	}}}
	data, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "s.binpb"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := find("s.binpb"); err != nil {
		t.Error(err)
	}
}

// Successes and failures have percentiles of their own where both are many.
func TestPercentilesApart(t *testing.T) {
	t.Parallel()
	r := &Result{Rate: 100, Planned: 200, Counts: newCounts(), Use: Use{Elapsed: time.Second, Processors: 1}}
	count := r.Counts
	now := time.Now()
	for i := range 200 {
		took := 200 * time.Millisecond
		var err error
		if i%2 == 0 {
			took = time.Millisecond
			err = fmt.Errorf("status %d", http.StatusServiceUnavailable)
		}
		count.done(timing{due: now, sent: now, charged: now}, now.Add(took), now.Add(took), 200, err)
	}
	r.Counts = count
	r.Account.SentOnTime = 200
	r.sumUp()
	var table strings.Builder
	if err := r.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(table.String(), "succeeded p50 200") || !strings.Contains(table.String(), "failed    p50 1ms") {
		t.Error(table.String())
	}
}

// Connections go to all addresses of a name in turn, and past one where nothing listens.
func TestAllAddresses(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	conns := map[string]int{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	if err := server.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	var err error
	if server.Listener, err = net.Listen("tcp4", "0.0.0.0:0"); err != nil {
		t.Fatal(err)
	}
	server.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateNew {
			mu.Lock()
			defer mu.Unlock()
			conns[c.LocalAddr().(*net.TCPAddr).IP.String()]++
		}
	}
	server.Start()
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	for _, addresses := range [][]string{{"127.0.0.1", "127.0.0.2", "127.0.0.3"}, {"127.0.0.1", "::1"}} {
		mu.Lock()
		clear(conns)
		mu.Unlock()
		lookup := func(context.Context, string) ([]string, error) { return addresses, nil }
		pool, err := Open(t.Context(), &Target{Proto: "http1", Conns: 6, Streams: 1, lookup: lookup, Request: Request{URL: parsed(t, "http://name:"+port+"/")}})
		if err != nil {
			t.Fatal(err)
		}
		if err := once(pool); err != nil {
			t.Error(err)
		}
		accepted := func() (n int) {
			mu.Lock()
			defer mu.Unlock()
			for _, m := range conns {
				n += m
			}
			return n
		}
		for begun := time.Now(); accepted() < 6 && time.Since(begun) < 10*time.Second; time.Sleep(time.Millisecond) {
		}
		mu.Lock()
		if conns["127.0.0.1"] != 6 && conns["127.0.0.1"]+conns["127.0.0.2"]+conns["127.0.0.3"] != 6 || len(addresses) == 3 && conns["127.0.0.2"] != 2 {
			t.Errorf("%v: %v", addresses, conns)
		}
		mu.Unlock()
		_ = pool.Close()
	}
}
