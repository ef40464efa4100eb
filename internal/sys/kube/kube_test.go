package kube_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"postage/internal/sys/kube"
)

// Requests go where the API has the kind, as client-go's generated clients send them: in protobuf
// unless the config says otherwise, with a program's name. What comes back is decoded.
func TestRequests(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		format := "json"
		if bytes.HasPrefix(body, []byte("k8s\x00")) {
			format = "protobuf"
		}
		asked = append(asked, r.Method+" "+r.URL.String()+" "+format)
		if !strings.HasPrefix(r.UserAgent(), "kube.test/") {
			t.Errorf("%s is from %q", r.URL, r.UserAgent())
		}
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		_, _ = w.Write(body)
	}))
	defer server.Close()
	for _, format := range []string{"", "application/json"} {
		config := &rest.Config{Host: server.URL}
		config.ContentType = format
		cluster, err := kube.Connect(config, nil)
		if err != nil {
			t.Fatal(err)
		}
		meta, options := metav1.ObjectMeta{Name: "hello"}, metav1.CreateOptions{DryRun: []string{"All"}}
		if o, err := kube.Namespaces.In(cluster, "").Create(t.Context(), &corev1.Namespace{ObjectMeta: meta}, options); err != nil || o.Name != "hello" {
			t.Errorf("%+v, %v", o, err)
		}
		if o, err := kube.Jobs.In(cluster, "ours").Create(t.Context(), &batchv1.Job{ObjectMeta: meta}, options); err != nil || o.Name != "hello" {
			t.Errorf("%+v, %v", o, err)
		}
		if o, err := kube.AccessReviews.In(cluster, "").Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{ObjectMeta: meta}, options); err != nil || o.Name != "hello" {
			t.Errorf("%+v, %v", o, err)
		}
	}
	want := []string{
		"POST /api/v1/namespaces?dryRun=All",
		"POST /apis/batch/v1/namespaces/ours/jobs?dryRun=All",
		"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews?dryRun=All",
	}
	var all []string
	for _, format := range []string{" protobuf", " json"} {
		for _, request := range want {
			all = append(all, request+format)
		}
	}
	if !slices.Equal(asked, all) {
		t.Errorf("%q", asked)
	}
}
