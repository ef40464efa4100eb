package api

import (
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// Scheme and Codecs are client-go's (k8s.io/client-go/kubernetes/scheme), with five groups of its
// 53, and [Release].
var (
	Scheme = runtime.NewScheme()
	Codecs = serializer.NewCodecFactory(Scheme)

	parameters = runtime.NewParameterCodec(Scheme)
	groups     = []schema.GroupVersion{
		appsv1.SchemeGroupVersion, authorizationv1.SchemeGroupVersion, batchv1.SchemeGroupVersion, corev1.SchemeGroupVersion, rbacv1.SchemeGroupVersion,
		ReleaseVersion,
	}
)

func init() {
	// In client-go's order. The first group is the one whose requests' options need no conversion.
	metav1.AddToGroupVersion(Scheme, schema.GroupVersion{Version: "v1"})
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, authorizationv1.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme, rbacv1.AddToScheme, addReleases,
	} {
		utilruntime.Must(add(Scheme))
	}
}
