// Package kube reaches a cluster, from outside or from a Job's pod, and says what pods do there.
package kube

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"postage/internal/kube/api"
)

func patient(config *rest.Config) *rest.Config {
	config.QPS = -1
	config.Timeout = 10 * time.Second // a request without an answer is then repeated
	config.WarningHandler = rest.NoWarnings{}
	return config
}

// OwnedBy makes an object belong to a Job: it is deleted with it.
func OwnedBy(job *batchv1.Job) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: job.Name, UID: job.UID}}
}

// A Client works in one namespace of a cluster.
type Client struct {
	*api.Cluster
	Namespace string
	Jobs      *api.Client[*batchv1.Job, *batchv1.JobList]
	Maps      *api.Client[*corev1.ConfigMap, *corev1.ConfigMapList]
	Pods      *api.Client[*corev1.Pod, *corev1.PodList]
}

// Open returns a client of the cluster that a kubeconfig names ("" for kubectl's default), and of a
// namespace there ("" for the kubeconfig's).
func Open(kubeconfig, namespace string) (*Client, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{})
	config, err := loader.ClientConfig()
	if err == nil && namespace == "" {
		namespace, _, err = loader.Namespace()
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return Connect(patient(config), namespace)
}

// Connect returns a client of a cluster and a namespace.
func Connect(config *rest.Config, namespace string) (*Client, error) {
	c, err := api.Connect(config, nil)
	if err != nil {
		return nil, err
	}
	return &Client{c, namespace, api.Jobs.In(c, namespace), api.ConfigMaps.In(c, namespace), api.Pods.In(c, namespace)}, nil
}

// InPod returns the client of a Job's pod that this program runs in, and the Job with its name and
// UID.
func InPod() (*Client, *batchv1.Job, error) {
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, nil, fmt.Errorf("a worker on Kubernetes runs in a pod: %w", err)
	}
	c, err := Connect(patient(config), os.Getenv("POSTAGE_NAMESPACE"))
	return c, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: os.Getenv("POSTAGE_JOB"), UID: types.UID(os.Getenv("POSTAGE_JOB_UID"))}}, err
}

// Put writes a ConfigMap that belongs to a Job, and has the Job's name as a label.
func (c *Client) Put(ctx context.Context, job *batchv1.Job, label, name string, object *corev1.ConfigMap) error {
	object.ObjectMeta = metav1.ObjectMeta{Name: name, Labels: map[string]string{label: job.Name}, OwnerReferences: OwnedBy(job)}
	_, err := c.Maps.Update(ctx, object, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = c.Maps.Create(ctx, object, metav1.CreateOptions{})
	}
	return err
}

// Refusing is how long a cluster may refuse what is asked: a server that has just started knows no
// rights yet.
const Refusing = 10 * time.Second

// Delete deletes a Job and all that it owns. It tries again for half a minute, or as long as the
// cluster may refuse it.
func (c *Client) Delete(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for began := time.Now(); ; {
		err := c.Jobs.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)})
		if err == nil || apierrors.IsNotFound(err) {
			return nil
		}
		if apierrors.IsForbidden(err) && time.Since(began) > Refusing || !Pause(ctx, time.Second) {
			return fmt.Errorf("delete the Job %s: %w", name, err)
		}
	}
}

// Pause waits and reports whether it waited to the end, before ctx ended.
func Pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// StateOf says in words what a pod is doing, and why it ended, if it has.
func StateOf(pod *corev1.Pod) (state, ended string) {
	for i := range pod.Status.ContainerStatuses {
		switch s := &pod.Status.ContainerStatuses[i].State; {
		case s.Terminated != nil && s.Terminated.ExitCode != 0:
			ended = fmt.Sprintf("its pod on %s ended with status %d", pod.Spec.NodeName, s.Terminated.ExitCode)
			if reason := s.Terminated.Reason; reason != "Error" && reason != "" {
				ended += " (" + reason + ")"
			}
			if text := strings.TrimSpace(s.Terminated.Message); text != "" {
				lines := strings.Split(text, "\n")
				ended += ": " + strings.Join(lines[max(0, len(lines)-5):], "\n")
			}
			return "", ended
		case s.Waiting != nil && s.Waiting.Message != "":
			return "waits: " + s.Waiting.Reason + ": " + s.Waiting.Message, ""
		case s.Running != nil:
			return "runs on " + pod.Spec.NodeName, ""
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return "waits for a node: " + condition.Message, ""
		}
	}
	return "", ""
}
