// Package api has client-go's typed clients for the kinds that Postage uses.
//
// They are of type gentype.Client, as client-go's own generated clients are
// (k8s.io/client-go/kubernetes), with the same settings and scheme, and make the same requests.
// Those packages are not used, because each brings all 53 groups of the API.
package api

import (
	"cmp"
	"net/http"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"
)

// The kinds.
var (
	AccessReviews       = kind[authorizationv1.SelfSubjectAccessReview, metav1.List](authorizationv1.SchemeGroupVersion, "selfsubjectaccessreviews")
	ClusterRoleBindings = kind[rbacv1.ClusterRoleBinding, rbacv1.ClusterRoleBindingList](rbacv1.SchemeGroupVersion, "clusterrolebindings")
	ClusterRoles        = kind[rbacv1.ClusterRole, rbacv1.ClusterRoleList](rbacv1.SchemeGroupVersion, "clusterroles")
	ConfigMaps          = kind[corev1.ConfigMap, corev1.ConfigMapList](corev1.SchemeGroupVersion, "configmaps")
	Deployments         = kind[appsv1.Deployment, appsv1.DeploymentList](appsv1.SchemeGroupVersion, "deployments")
	Jobs                = kind[batchv1.Job, batchv1.JobList](batchv1.SchemeGroupVersion, "jobs")
	Namespaces          = kind[corev1.Namespace, corev1.NamespaceList](corev1.SchemeGroupVersion, "namespaces")
	Nodes               = kind[corev1.Node, corev1.NodeList](corev1.SchemeGroupVersion, "nodes")
	Pods                = kind[corev1.Pod, corev1.PodList](corev1.SchemeGroupVersion, "pods")
	RoleBindings        = kind[rbacv1.RoleBinding, rbacv1.RoleBindingList](rbacv1.SchemeGroupVersion, "rolebindings")
	Roles               = kind[rbacv1.Role, rbacv1.RoleList](rbacv1.SchemeGroupVersion, "roles")
	Secrets             = kind[corev1.Secret, corev1.SecretList](corev1.SchemeGroupVersion, "secrets")
	ServiceAccounts     = kind[corev1.ServiceAccount, corev1.ServiceAccountList](corev1.SchemeGroupVersion, "serviceaccounts")
)

// Object is any object of an API.
type Object interface {
	runtime.Object
	metav1.Object
}

// Kind is one kind of objects, and of lists of them.
type Kind[T Object, L runtime.Object] struct {
	group    schema.GroupVersion
	resource string
	object   func() T
	list     func() L
}

// kind returns the kind whose objects are *T and whose lists are *L.
func kind[T, L any, P interface {
	*T
	Object
}, Q interface {
	*L
	runtime.Object
}](group schema.GroupVersion, resource string) Kind[P, Q] {
	return Kind[P, Q]{group, resource, func() P { return new(T) }, func() Q { return new(L) }}
}

// Cluster is a client of all kinds of a cluster.
type Cluster struct {
	groups map[schema.GroupVersion]rest.Interface
}

// Connect returns a client. It sends requests through the http.Client, or for nil through the one
// that client-go makes for the config. Nothing is sent yet.
func Connect(config *rest.Config, client *http.Client) (*Cluster, error) {
	// What the generated clients' setConfigDefaults does.
	defaults := *config
	defaults.NegotiatedSerializer = rest.CodecFactoryForGeneratedClient(Scheme, Codecs).WithoutConversion()
	defaults.UserAgent = cmp.Or(defaults.UserAgent, rest.DefaultKubernetesUserAgent())
	if client == nil {
		var err error
		if client, err = rest.HTTPClientFor(&defaults); err != nil {
			return nil, err
		}
	}
	c := &Cluster{map[schema.GroupVersion]rest.Interface{}}
	for _, group := range groups {
		defaults.GroupVersion, defaults.APIPath = &group, "/apis"
		if group.Group == "" {
			defaults.APIPath = "/api"
		}
		one, err := rest.RESTClientForConfigAndClient(&defaults, client)
		if err != nil {
			return nil, err
		}
		c.groups[group] = one
	}
	return c, nil
}

// Client is the typed client of one kind. That of a generated client is the same, with server-side
// apply.
type Client[T Object, L runtime.Object] = gentype.ClientWithList[T, L]

// In returns the kind's client in a namespace, "" for a kind that has none, or for all.
func (k Kind[T, L]) In(c *Cluster, namespace string) *Client[T, L] {
	return gentype.NewClientWithList(k.resource, c.groups[k.group], parameters, namespace, k.object, k.list, gentype.PrefersProtobuf[T]())
}
