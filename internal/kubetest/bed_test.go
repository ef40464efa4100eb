// Package kubetest tests the fleet of `postage load --kubernetes`, on a cluster of its own.
package kubetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"postage/internal/kube"
	"postage/internal/kube/api"
)

// image is the name of Postage's image on a bed's node.
const image = "postage.invalid/postage:test"

// A bed is a cluster of one node with Postage's image and what docs/kubernetes.yaml creates.
type bed struct {
	*cluster
	Client  *api.Cluster // an administrator's
	Program string       // path of the postage of the image
	User    string       // path of the kubeconfig of an account with the Role postage-load-user
}

// newBed starts a cluster, which ends with the test. It is for POSTAGE_LONG; the test is skipped if
// something is missing, and under CI it then fails.
func newBed(t *testing.T) *bed {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, dir := t.Context(), t.TempDir()
	b := &bed{cluster: started(t), Program: filepath.Join(dir, "postage"), User: filepath.Join(dir, "kubeconfig")}
	archive := filepath.Join(dir, "image.tar")
	for _, args := range [][]string{
		// Linked statically out of the packages that are compiled already.
		{"go", "build", "-ldflags=-s -w -linkmode external -extldflags -static", "-o", b.Program, "postage/cmd/postage"},
		{b.Program, "kubernetes", "image", "--name", image, archive},
	} {
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
	}
	t.Cleanup(func() { b.logs(t) })
	must(b.Import(ctx, archive))
	config, err := clientcmd.BuildConfigFromFlags("", b.Kubeconfig)
	must(err)
	b.Client, err = api.Connect(config, nil)
	must(err)
	b.apply(t, "../../docs/kubernetes.yaml")
	must(b.user(t))
	must(b.allowed(ctx))
	return b
}

// logs shows the pods' logs if the test failed.
func (b *bed) logs(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(b.Kubeconfig), "log/pods/*/*/*.log"))
	for _, file := range files {
		if text, err := os.ReadFile(file); t.Failed() && err == nil {
			t.Logf("%s: %s", filepath.Base(filepath.Dir(filepath.Dir(file))), text)
		}
	}
}

// apply creates the objects of a file.
func (b *bed) apply(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ctx, options := t.Context(), metav1.CreateOptions{}
	for part := range bytes.SplitSeq(text, []byte("\n---\n")) {
		object, _, err := api.Codecs.UniversalDeserializer().Decode(part, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		switch o := object.(type) {
		case *corev1.ServiceAccount:
			_, err = api.ServiceAccounts.In(b.Client, "default").Create(ctx, o, options)
		case *rbacv1.Role:
			_, err = api.Roles.In(b.Client, "default").Create(ctx, o, options)
		case *rbacv1.RoleBinding:
			_, err = api.RoleBindings.In(b.Client, "default").Create(ctx, o, options)
		default:
			t.Fatalf("%s holds a %T", file, o)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// allowed waits until the API server knows that the User may make Jobs, some time after the right
// was given.
func (b *bed) allowed(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", b.User)
	if err != nil {
		return err
	}
	client, err := api.Connect(config, nil)
	if err != nil {
		return err
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "default", Group: "batch", Resource: "jobs", Verb: "create"},
	}}
	for until := time.Now().Add(kube.Refusing); ; {
		answer, err := api.AccessReviews.In(client, "").Create(ctx, review, metav1.CreateOptions{})
		if err == nil && answer.Status.Allowed {
			return nil
		}
		if err == nil {
			err = errors.New("not allowed: " + answer.Status.Reason)
		}
		if time.Now().After(until) || !kube.Pause(ctx, 50*time.Millisecond) {
			return fmt.Errorf("the user may not create jobs: %w", err)
		}
	}
}

// user makes the account of the kubeconfig User.
func (b *bed) user(t *testing.T) error {
	ctx, options := t.Context(), metav1.CreateOptions{}
	meta, user := metav1.ObjectMeta{Name: "user"}, []rbacv1.Subject{{Kind: "ServiceAccount", Name: "user", Namespace: "default"}}
	accounts := api.ServiceAccounts.In(b.Client, "default")
	if _, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, options); err != nil {
		return err
	}
	if _, err := api.RoleBindings.In(b.Client, "default").Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "postage-load-user"}, Subjects: user,
	}, options); err != nil {
		return err
	}
	if err := authenticationv1.AddToScheme(api.Scheme); err != nil {
		return err
	}
	token := new(authenticationv1.TokenRequest)
	if err := accounts.GetClient().Post().Namespace("default").Resource("serviceaccounts").Name("user").SubResource("token").
		Body(token).Do(ctx).Into(token); err != nil {
		return err
	}
	config, err := clientcmd.LoadFromFile(b.Kubeconfig)
	if err != nil {
		return err
	}
	for _, user := range config.AuthInfos {
		user.Token = token.Status.Token
	}
	return clientcmd.WriteToFile(*config, b.User)
}
