// Package kube reaches a cluster, with client-go's typed clients for the kinds that Postage uses.
//
// They are of type gentype.Client, as client-go's own generated clients are
// (k8s.io/client-go/kubernetes), with the same settings and scheme, and make the same requests.
// Those packages are not used, because each brings all 53 groups of the API.
package kube

import (
	"cmp"
	"fmt"
	"net/http"

	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// The kinds.
var (
	AccessReviews       = kind[authorizationv1.SelfSubjectAccessReview, metav1.List](authorizationv1.SchemeGroupVersion, "selfsubjectaccessreviews")
	ClusterRoleBindings = kind[rbacv1.ClusterRoleBinding, rbacv1.ClusterRoleBindingList](rbacv1.SchemeGroupVersion, "clusterrolebindings")
	ClusterRoles        = kind[rbacv1.ClusterRole, rbacv1.ClusterRoleList](rbacv1.SchemeGroupVersion, "clusterroles")
	ConfigMaps          = kind[corev1.ConfigMap, corev1.ConfigMapList](corev1.SchemeGroupVersion, "configmaps")
	Jobs                = kind[batchv1.Job, batchv1.JobList](batchv1.SchemeGroupVersion, "jobs")
	Namespaces          = kind[corev1.Namespace, corev1.NamespaceList](corev1.SchemeGroupVersion, "namespaces")
	Pods                = kind[corev1.Pod, corev1.PodList](corev1.SchemeGroupVersion, "pods")
	Secrets             = kind[corev1.Secret, corev1.SecretList](corev1.SchemeGroupVersion, "secrets")
)

// Scheme and Codecs are client-go's (k8s.io/client-go/kubernetes/scheme), with four groups of its
// 53.
var (
	Scheme = runtime.NewScheme()
	Codecs = serializer.NewCodecFactory(Scheme)

	parameters = runtime.NewParameterCodec(Scheme)
	groups     = []schema.GroupVersion{
		authorizationv1.SchemeGroupVersion, batchv1.SchemeGroupVersion, corev1.SchemeGroupVersion, rbacv1.SchemeGroupVersion,
	}
)

func init() {
	// In client-go's order. The first group is the one whose requests' options need no conversion.
	metav1.AddToGroupVersion(Scheme, schema.GroupVersion{Version: "v1"})
	for _, add := range []func(*runtime.Scheme) error{
		authorizationv1.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme, rbacv1.AddToScheme,
	} {
		utilruntime.Must(add(Scheme))
	}
}

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

// Config reads how to reach a cluster from a kubeconfig and a context there. With "" it takes
// kubectl's defaults: in a pod, the pod's own cluster and namespace. It has no limiter and prints no
// warnings.
func Config(kubeconfig, context string) (config *rest.Config, namespace string, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context})
	config, err = loader.ClientConfig()
	if err == nil {
		namespace, _, err = loader.Namespace()
	}
	if err != nil {
		return nil, "", fmt.Errorf("kubeconfig: %w", err)
	}
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	return config, namespace, nil
}

// Cluster is a client of a cluster, for all kinds.
type Cluster struct {
	groups map[schema.GroupVersion]rest.Interface
}

// Connect returns a client, and sends nothing yet. The client sends requests through an http.Client:
// the given one, or for nil one that client-go makes for the config.
func Connect(config *rest.Config, client *http.Client) (*Cluster, error) {
	// The generated clients' setConfigDefaults does the same.
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

// Client is the typed client of one kind: a generated client without server-side apply.
type Client[T Object, L runtime.Object] = gentype.ClientWithList[T, L]

// In returns the kind's client in a namespace, "" for all namespaces or for a kind without one.
func (k Kind[T, L]) In(c *Cluster, namespace string) *Client[T, L] {
	return gentype.NewClientWithList(k.resource, c.groups[k.group], parameters, namespace, k.object, k.list, gentype.PrefersProtobuf[T]())
}
