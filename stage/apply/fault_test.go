//go:build unix

package apply

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/tools/clientcmd"

	"postage/internal/service/apiserver"
	"postage/internal/sys/kube"
	"postage/lab"
)

// With client-go's gate shut, a client that is told to use CBOR silently sends JSON. The proof
// notices it, for every operation.
func TestProofSeesSilentJSON(t *testing.T) {
	needServer(t)
	featurestesting.SetFeatureDuringTest(t, features.ClientsAllowCBOR, false)
	for _, name := range kindByName("configmap").ops {
		in := instanceOf(t, one(name), "cbor")
		wantError(t, in.Prove(t.Context()), `"application/json", want "application/cbor"`)
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A body must have the content type that its header names.
func TestProofReadsBodies(t *testing.T) {
	m := byName("cbor")
	ok := exchange{method: "POST", path: "/", status: 201, sent: m.contentType, accepts: m.contentType, received: m.contentType,
		request: []byte("\xd9\xd9\xf7\xa1"), response: []byte("\xd9\xd9\xf7\xa1")}
	if err := ok.check(&m); err != nil {
		t.Error(err)
	}
	for reason, change := range map[string]func(*exchange){
		"the request says it is":  func(e *exchange) { e.request = []byte(`{"kind":"ConfigMap"}`) },
		"the response says it is": func(e *exchange) { e.response = []byte(`{"kind":"ConfigMap"}`) },
		"the request has no body": func(e *exchange) { e.request = nil },
		"the response is":         func(e *exchange) { e.received = "application/json" },
		"the request accepts":     func(e *exchange) { e.accepts = "application/json" },
		"HTTP 409":                func(e *exchange) { e.status = 409 },
		"says it is \"application/cbor\" and begins with \"{": func(e *exchange) { e.method, e.request = "PATCH", []byte(`{"kind":"Release"}`) },
	} {
		e := exchange{method: ok.method, path: ok.path, status: ok.status, sent: ok.sent, accepts: ok.accepts, received: ok.received, request: ok.request, response: ok.response}
		change(&e)
		wantError(t, e.check(&m), reason)
	}
}

// A client whose writes are lost, or differ from what they should be, or are left behind.
func TestProofSeesTheWork(t *testing.T) {
	needServer(t)
	for _, r := range []struct {
		operation, reason string
		lie               func(*liar)
	}{
		{"create", "read back: configmaps", func(l *liar) { l.created = func(o object) bool { return false } }},
		{"create", "read back: ", func(l *liar) {
			l.created = func(o object) bool { o.SetAnnotations(map[string]string{changeKey: "other"}); return true }
		}},
		{crud, "is still there", func(l *liar) { l.deletes = func() bool { return false } }},
	} {
		in := instanceOf(t, one(r.operation), "json")
		l := &liar{resource: in.caller.(*throughClient).resource}
		r.lie(l)
		in.caller.(*throughClient).resource = l
		err := in.Prove(t.Context())
		if l.created == nil && l.deletes != nil {
			// Nothing is sent, which the requests on the wire show first.
			wantError(t, err, "the requests were")
			err = in.checkWork(t.Context(), nil)
		} else if strings.HasSuffix(r.reason, "configmaps") {
			wantError(t, err, "the requests were")
			err = in.checkWork(t.Context(), nil)
		}
		wantError(t, err, r.reason)
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
}

// liar is a client that does something other than what it is asked to do.
type liar struct {
	resource
	created func(object) bool
	deletes func() bool
}

func (l *liar) create(ctx context.Context, o object, options metav1.CreateOptions) (object, error) {
	if l.created != nil && !l.created(o) {
		return o, nil
	}
	return l.resource.create(ctx, o, options)
}

func (l *liar) delete(ctx context.Context, name string) error {
	if l.deletes != nil && !l.deletes() {
		return nil
	}
	return l.resource.delete(ctx, name)
}

// In the slice with the page's mistake, JSON is sent for every content type, as the row says. A
// client without the mistake fails its proof.
func TestProofWantsTheMistake(t *testing.T) {
	needServer(t)
	in, err := newInstance(t.Context(), one(crud), byName("json"), func(in *instance) (caller, error) {
		asked := byName("protobuf")
		if _, err := openMistaken(in, &asked); err != nil {
			return nil, err
		}
		c, err := openClient(&in.reach, &in.kind, &asked)
		if err != nil {
			return nil, err
		}
		return &throughClient{client: c, in: in}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, in.Prove(t.Context()), `"application/vnd.kubernetes.protobuf", want "application/json"`)
	if err := in.Close(); err != nil {
		t.Error(err)
	}
}

// another starts a server for one test, which workers use instead of the shared one.
func another(t *testing.T, o apiserver.Options) (*apiserver.Server, *lab.Running) {
	t.Helper()
	needServer(t)
	s, err := apiserver.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	running, err := running(t.Context(), s, variable(o.Kind, false))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range running.Environment {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	return s, running
}

// When the server dies, the running row fails and says so. Rows that need no server go on.
func TestServerDies(t *testing.T) {
	s, _ := another(t, apiserver.Options{Kind: testServer()})
	in := instanceOf(t, one("get"), "json")
	if err := in.Prove(t.Context()); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() { failed <- in.Run(1 << 30) }()
	if err := syscall.Kill(s.Reach().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-failed:
		wantError(t, err, "apply: get configmap: the API server ended: ")
		wantError(t, err, "; its log ends with: "+in.reach.LastLines(3))
	case <-time.After(2 * time.Minute):
		t.Fatal("waits for a server that died")
	}
	wantError(t, in.Close(), "the API server ended")
	c := caseNamed(t, "Apply/server="+string(testServer())+"/fsync=off/op=get/kind=configmap/inflight=1")
	_, err := c.Contenders[0].Open(t.Context(), lab.Env{})
	wantError(t, err, "apply: the API server ended: make objects: ")
	works(t, caseNamed(t, "Apply/serialize=encode/kind=configmap").Contenders[0])
}

// With a server without CBOR, that row says so, and the others are measured.
func TestServerWithoutCBOR(t *testing.T) {
	_, running := another(t, apiserver.Options{Kind: testServer(), FeatureGates: "CBORServingAndStorage=false"})
	c := caseNamed(t, "Apply/server="+string(testServer())+"/fsync=off/op=create/kind=configmap/inflight=1")
	refused := 0
	for _, contender := range c.Contenders {
		err := running.Serves(&c, &contender)
		if contender.Name != "as=cbor" {
			if err != nil {
				t.Errorf("%s: %v", contender.Name, err)
			}
			works(t, contender)
			continue
		}
		refused++
		wantError(t, err, "not served here (HTTP 415/406)")
	}
	if refused != 1 {
		t.Errorf("%d rows are refused, want 1", refused)
	}
}

// userConfig writes a kubeconfig with which the tests' server is the cluster of another user.
func userConfig(t *testing.T, impersonate string) string {
	t.Helper()
	r, err := reachOf(testServer(), false)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(r.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if r.Context != "" {
		config.CurrentContext = r.Context
	}
	for _, user := range config.AuthInfos {
		user.Impersonate = impersonate
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// On a user's cluster everything is in one namespace and under one prefix, and is gone at the end.
func TestClusterOfTheUsers(t *testing.T) {
	needServer(t)
	if testServer() == apiserver.User {
		t.Skip("the tests' server is one of the user's")
	}
	file := userConfig(t, "")
	ctx := t.Context()
	running, err := newService(&serverFlags{kubeconfig: file}, apiserver.User, false).Start(ctx, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	var r apiserver.Reach
	for _, v := range running.Environment {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
		if name == variable(apiserver.User, false) {
			if err := json.Unmarshal([]byte(value), &r); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, kind := range []string{"configmap", "clusterrole"} {
		s := spec{server: apiserver.User, op: opByName(crud), kind: kindByName(kind), inflight: 1}
		in := instanceOf(t, s, "protobuf")
		if err := in.Prove(t.Context()); err != nil {
			t.Error(err)
		}
		if c, err := in.Counters(); err != nil || c["server-cpu-ns/op"] != 0 {
			t.Errorf("the CPU time of someone else's server: %v, %v", c, err)
		}
		if name := in.objects.newName(); kind == "clusterrole" && !strings.HasPrefix(name, r.Namespace+"-") {
			t.Errorf("a ClusterRole's name is %s, in namespace %s", name, r.Namespace)
		}
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
	// A worker that was killed has left a ClusterRole behind.
	config, err := r.Config()
	if err != nil {
		t.Fatal(err)
	}
	client, err := kube.Connect(config, nil)
	if err != nil {
		t.Fatal(err)
	}
	roles := kube.ClusterRoles.In(client, "")
	left := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: r.Prefix() + "left", Labels: map[string]string{apiserver.Label: r.Namespace}}}
	if _, err := roles.Create(t.Context(), left, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := running.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := roles.Get(t.Context(), left.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the ClusterRole is there (%v)", err)
	}
	// The sample control plane has no controller that would empty the namespace and remove it.
	if n, err := kube.Namespaces.In(client, "").Get(t.Context(), r.Namespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) && (err != nil || n.DeletionTimestamp == nil) {
		t.Errorf("the namespace is not being deleted: %+v, %v", n, err)
	}
}

// Without a permission, the operation is not tried, and the permission is named.
func TestNoPermission(t *testing.T) {
	needServer(t)
	if testServer() == apiserver.User {
		t.Skip("the tests' server is one of the user's")
	}
	_, err := newService(&serverFlags{kubeconfig: userConfig(t, "nobody")}, apiserver.User, false).Start(t.Context(), t.Output())
	if !errors.Is(err, apiserver.ErrForbidden) {
		t.Errorf("error is %v", err)
	}
	wantError(t, err, "to create namespaces in the cluster")

	// A user who may do everything except create ClusterRoles.
	limited := "limited-" + filepath.Base(t.TempDir())
	r, err := reachOf(testServer(), false)
	if err != nil {
		t.Fatal(err)
	}
	config, err := r.Config()
	if err != nil {
		t.Fatal(err)
	}
	client, err := kube.Connect(config, nil)
	if err != nil {
		t.Fatal(err)
	}
	roles, bindings := kube.ClusterRoles.In(client, ""), kube.ClusterRoleBindings.In(client, "")
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: limited}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"namespaces", "configmaps"}, Verbs: []string{"*"}},
		{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"}, Verbs: []string{"get", "list"}},
		{NonResourceURLs: []string{"*"}, Verbs: []string{"access", "get"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: limited}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: limited},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: limited}}}
	if _, err := roles.Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := bindings.Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := errors.Join(roles.Delete(ctx, limited, metav1.DeleteOptions{}), bindings.Delete(ctx, limited, metav1.DeleteOptions{})); err != nil {
			t.Error(err)
		}
	})
	// The server learns of roles through a watch of its own, so this takes a moment.
	var running *lab.Running
	for until := time.Now().Add(time.Minute); ; {
		running, err = newService(&serverFlags{kubeconfig: userConfig(t, limited)}, apiserver.User, false).Start(t.Context(), t.Output())
		if err == nil || time.Now().After(until) {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := running.Stop(); err != nil {
			t.Error(err)
		}
	}()
	c := caseNamed(t, "Apply/server=user/op=crud/kind=configmap/inflight=1")
	if err := running.Serves(&c, &c.Contenders[0]); err != nil {
		t.Error(err)
	}
	c = caseNamed(t, "Apply/server=user/op=crud/kind=clusterrole/inflight=1")
	err = running.Serves(&c, &c.Contenders[0])
	wantError(t, err, "no permission at ")
	wantError(t, err, "to create clusterroles."+rbacv1.GroupName)
}
