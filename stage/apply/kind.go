package apply

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"postage/internal/sys/kube"
)

// kind is one kind of objects.
type kind struct {
	name       string // its name in rows
	group      string
	version    string
	resource   string
	namespaced bool
	ops        []string // what is measured of the kind
	make       func(metav1.ObjectMeta) object
	open       func(c *kube.Cluster, namespace string) resource
}

// object is any object of an API.
type object = kube.Object

// resource is client-go's typed client for one kind.
type resource interface {
	create(ctx context.Context, o object, options metav1.CreateOptions) (object, error)
	get(ctx context.Context, name string) (object, error)
	update(ctx context.Context, o object) (object, error)
	list(ctx context.Context, selector string) ([]object, error)
	delete(ctx context.Context, name string) error
}

func kinds() []kind {
	return []kind{
		{name: "configmap", version: "v1", resource: "configmaps", namespaced: true, make: configMap,
			ops:  []string{crud, "create", "get", "update", "list100"},
			open: typedClient(kube.ConfigMaps, func(l *corev1.ConfigMapList) []object { return pointers(l.Items) })},
		{name: "clusterrole", group: rbacv1.GroupName, version: "v1", resource: "clusterroles", ops: []string{crud}, make: clusterRole,
			open: typedClient(kube.ClusterRoles, func(l *rbacv1.ClusterRoleList) []object { return pointers(l.Items) })},
	}
}

// collection returns the path of the kind's objects.
func (k *kind) collection(namespace string) string {
	path := "/api/" + k.version
	if k.group != "" {
		path = "/apis/" + k.group + "/" + k.version
	}
	if k.namespaced {
		path += "/namespaces/" + namespace
	}
	return path + "/" + k.resource
}

// typed is one of client-go's typed clients. A generated client is the same gentype.Client, set up
// as in [kube.Connect]: for these kinds, operations and content types both send the same bytes,
// with as many allocations.
type typed[T object, L runtime.Object] struct {
	api   *kube.Client[T, L]
	items func(L) []object
}

// typedClient returns what opens a kind's client, with a function that returns a list's items.
func typedClient[T object, L runtime.Object](k kube.Kind[T, L], items func(L) []object) func(*kube.Cluster, string) resource {
	return func(c *kube.Cluster, namespace string) resource { return typed[T, L]{k.In(c, namespace), items} }
}

func (t typed[T, L]) create(ctx context.Context, o object, options metav1.CreateOptions) (object, error) {
	return t.api.Create(ctx, o.(T), options)
}

func (t typed[T, L]) get(ctx context.Context, name string) (object, error) {
	return t.api.Get(ctx, name, metav1.GetOptions{})
}

func (t typed[T, L]) update(ctx context.Context, o object) (object, error) {
	return t.api.Update(ctx, o.(T), metav1.UpdateOptions{})
}

func (t typed[T, L]) list(ctx context.Context, selector string) ([]object, error) {
	l, err := t.api.List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	return t.items(l), nil
}

func (t typed[T, L]) delete(ctx context.Context, name string) error {
	return t.api.Delete(ctx, name, metav1.DeleteOptions{})
}

// pointers returns pointers to the items of a list.
func pointers[T any, P interface {
	*T
	object
}](items []T) []object {
	objects := make([]object, len(items))
	for i := range items {
		objects[i] = P(&items[i])
	}
	return objects
}

// The objects, as a program makes them: without kind and version, which client-go adds.

func configMap(meta metav1.ObjectMeta) object {
	return &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{
		"greeting": "Hello, World!",
		"log":      "level=info\nformat=text\n",
		"replicas": "3",
	}}
}

// clusterRole is the page's ClusterRole, with its two rules.
func clusterRole(meta metav1.ObjectMeta) object {
	return &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"create", "update", "delete"}},
	}}
}

// named finds what has a name. It panics for a name that this package does not have.
func named[T any](all []T, name string, nameOf func(T) string) T {
	i := slices.IndexFunc(all, func(one T) bool { return nameOf(one) == name })
	if i < 0 {
		panic(fmt.Sprintf("apply: there is no %T %s", *new(T), name))
	}
	return all[i]
}
