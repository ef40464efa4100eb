package apply

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"

	"postage/internal/service/apiserver"
	"postage/internal/sys/kube"
)

// fake is an HTTP/2 server that records the requests it gets, such as "GET /version".
type fake struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func newFake(t *testing.T, handler http.HandlerFunc) *fake {
	t.Helper()
	f := &fake{}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.asked = append(f.asked, r.Method+" "+r.URL.Path)
		f.mu.Unlock()
		handler(w, r)
	}))
	f.EnableHTTP2 = true
	f.StartTLS()
	t.Cleanup(f.Close)
	return f
}

// all returns the requests so far.
func (f *fake) all() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.asked)
}

// newFakeCluster is an API server as far as the probes need it: it serves all content types but
// YAML, and denies permission for the refused requests.
func newFakeCluster(t *testing.T, refused ...string) *fake {
	return newFake(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		answer := func(status int, o any) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(o)
		}
		yaml := byName("yaml").contentType
		switch {
		case r.Header.Get("Content-Type") == yaml:
			http.Error(w, "", http.StatusUnsupportedMediaType)
		case r.Header.Get("Accept") == yaml:
			http.Error(w, "", http.StatusNotAcceptable)
		case r.Method == http.MethodPost && r.URL.Query().Has("dryRun") && !strings.HasPrefix(r.Header.Get("Accept"), "application/json"):
			w.Header().Set("Content-Type", r.Header.Get("Accept"))
			_, _ = w.Write(map[bool][]byte{true: cborMagic, false: protobufMagic}[r.Header.Get("Accept") == byName("cbor").contentType])
		case r.Method == http.MethodPost && r.URL.Query().Has("dryRun"):
			answer(http.StatusCreated, map[string]string{})
		case r.Method == http.MethodPost:
			o, _, err := kube.Codecs.UniversalDeserializer().Decode(text, nil, nil)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			if review, ok := o.(*authorizationv1.SelfSubjectAccessReview); ok {
				review.Status.Allowed = !slices.Contains(refused, review.Spec.ResourceAttributes.Resource)
			}
			answer(http.StatusCreated, o)
		default:
			answer(http.StatusOK, map[string]string{})
		}
	})
}

// Content types are probed with a kind that the user is allowed to use.
func TestRefusedIsNotAskedFor(t *testing.T) {
	cluster := newFakeCluster(t, "configmaps")
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":%q,"insecure-skip-tls-verify":true}}],"contexts":[{"name":"c","context":{"cluster":"c"}}]}`, cluster.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	running, err := newService(&serverFlags{kubeconfig: file}, apiserver.User, false).Start(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	for kind, reason := range map[string]string{
		"configmap":   "no permission at " + cluster.URL + " to create configmaps",
		"clusterrole": "not served here (HTTP 415/406)", // in YAML
	} {
		c := caseNamed(t, "Apply/server=user/op=crud/kind="+kind+"/inflight=1")
		for i := range c.Contenders {
			if c.Contenders[i].Name == "as=yaml" || kind != "clusterrole" {
				wantError(t, running.Serves(&c, &c.Contenders[i]), reason)
			} else if err := running.Serves(&c, &c.Contenders[i]); err != nil {
				t.Errorf("%s: %v", c.Contenders[i].Name, err)
			}
		}
	}
	if err := running.Stop(); err != nil {
		t.Error(err)
	}
	asked := cluster.all()
	if !slices.Contains(asked, "POST /apis/rbac.authorization.k8s.io/v1/clusterroles") {
		t.Errorf("no ClusterRole was tried: %q", asked)
	}
	for _, a := range asked {
		if strings.Contains(a, "configmaps") {
			t.Errorf("%s, which is refused", a)
		}
	}
}

// A cluster's address may have a path, with a slash at its end.
func TestAddresses(t *testing.T) {
	server := newFake(t, func(http.ResponseWriter, *http.Request) {})
	k := kindByName("configmap")
	for end, want := range map[string]string{"": "/api/v1", "/": "/api/v1", "/clusters/root": "/clusters/root/api/v1", "/clusters/root/": "/clusters/root/api/v1"} {
		config := &rest.Config{Host: server.URL + end, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
		c, err := newClient(config, "ours", &k)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.send(t.Context(), http.MethodGet, "/api/v1", "", "application/json", nil); err != nil {
			t.Error(err)
		}
		if asked := server.all(); asked[len(asked)-1] != "GET "+want {
			t.Errorf("%q: %s, want %s", end, asked[len(asked)-1], want)
		}
		c.close()
	}
}
