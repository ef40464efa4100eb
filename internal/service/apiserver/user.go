package apiserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"postage/internal/sys/kube"
)

// reachTimeout is how long a user's cluster may take to answer.
const reachTimeout = 8 * time.Second

// user is our namespace on the user's cluster.
type user struct {
	namespace string
	config    *rest.Config
}

// openUser makes our namespace on the user's cluster, if we are allowed to.
func openUser(ctx context.Context, o Options) (*user, error) {
	if o.Kubeconfig == "" {
		return nil, errors.New("no cluster is named: give --kubeconfig (or POSTAGE_KUBECONFIG)")
	}
	reach := Reach{Kubeconfig: o.Kubeconfig, Context: o.Context}
	config, err := reach.Config()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	for _, verb := range []string{"create", "delete"} {
		if err := allowed(ctx, config, authorizationv1.ResourceAttributes{Verb: verb, Resource: "namespaces"}); err != nil {
			return nil, err
		}
	}
	namespace, err := createNamespace(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", config.Host, err)
	}
	return &user{namespace, config}, nil
}

// Allowed returns an error that names the first verb we may not use on a resource, nil if we may
// use all. It asks about a namespaced resource in our namespace.
func (s *Server) Allowed(ctx context.Context, group, resource string, namespaced bool, verbs ...string) error {
	config, err := s.reach.Config()
	if err != nil {
		return err
	}
	for _, verb := range verbs {
		attributes := authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource}
		if namespaced {
			attributes.Namespace = s.reach.Namespace
		}
		if err := allowed(ctx, config, attributes); err != nil {
			return err
		}
	}
	return nil
}

// ErrForbidden is wrapped by errors that name a missing permission.
var ErrForbidden = errors.New("no permission")

// allowed asks the server by a SelfSubjectAccessReview.
func allowed(ctx context.Context, config *rest.Config, what authorizationv1.ResourceAttributes) error {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &what}}
	err := connected(config, func(c *kube.Cluster) (err error) {
		review, err = kube.AccessReviews.In(c, "").Create(ctx, review, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: check the permission to %s %s: %w", config.Host, what.Verb, what.Resource, err)
	}
	if !review.Status.Allowed {
		where := "in the cluster"
		if what.Namespace != "" {
			where = "in namespace " + what.Namespace
		}
		resource := schema.GroupResource{Group: what.Group, Resource: what.Resource}
		return fmt.Errorf("%w at %s to %s %s %s", ErrForbidden, config.Host, what.Verb, resource, where)
	}
	return nil
}

// close deletes our namespace, and the ClusterRoles that a worker left behind.
func (u *user) close(ctx context.Context) error {
	return connected(u.config, func(c *kube.Cluster) error {
		return errors.Join(u.deleteRoles(ctx, c), u.deleteNamespace(ctx, c))
	})
}

func (u *user) deleteNamespace(ctx context.Context, c *kube.Cluster) error {
	if err := kube.Namespaces.In(c, "").Delete(ctx, u.namespace, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the namespace %s at %s: %w", u.namespace, u.config.Host, err)
	}
	return nil
}

func (u *user) deleteRoles(ctx context.Context, c *kube.Cluster) error {
	roles := kube.ClusterRoles.In(c, "")
	left, err := roles.List(ctx, metav1.ListOptions{LabelSelector: Label + "=" + u.namespace})
	if apierrors.IsForbidden(err) {
		return nil // then we were not allowed to make any either
	}
	if err != nil {
		return fmt.Errorf("list this run's ClusterRoles at %s: %w", u.config.Host, err)
	}
	var errs []error
	for i := range left.Items {
		if err := roles.Delete(ctx, left.Items[i].Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
