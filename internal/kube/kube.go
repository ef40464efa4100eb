// Package kube is what Postage's Jobs on Kubernetes have in common.
package kube

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"postage/internal/kube/api"
)

// Config returns how to reach the cluster that a kubeconfig names ("" for kubectl's default), and
// the namespace: the one given, or for "" the kubeconfig's.
func Config(kubeconfig, namespace string) (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{})
	config, err := loader.ClientConfig()
	if err == nil && namespace == "" {
		namespace, _, err = loader.Namespace()
	}
	if err != nil {
		return nil, "", fmt.Errorf("kubeconfig: %w", err)
	}
	return patient(config), namespace, nil
}

// InCluster returns how a pod reaches its cluster.
func InCluster() (*rest.Config, error) {
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("a worker on Kubernetes runs in a pod: %w", err)
	}
	return patient(config), nil
}

func patient(config *rest.Config) *rest.Config {
	config.QPS = -1
	config.Timeout = 10 * time.Second // a request without an answer is then repeated
	config.WarningHandler = rest.NoWarnings{}
	return config
}

// Name returns a name for a new Job, which no other has, also if it is made in the same moment
// elsewhere.
func Name(prefix string) string { return prefix + strings.ToLower(rand.Text()[:10]) }

// OwnedBy makes an object belong to a Job: it is deleted with it.
func OwnedBy(job *batchv1.Job) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: job.Name, UID: job.UID}}
}

// Processors asks for whole processors, so that the kubelet's static policy gives each container
// its own, and for memory; for 0 processors it asks for nothing.
func Processors(n int, memory string) corev1.ResourceRequirements {
	if n == 0 {
		return corev1.ResourceRequirements{}
	}
	list := corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(int64(n), resource.DecimalSI), corev1.ResourceMemory: resource.MustParse(memory)}
	return corev1.ResourceRequirements{Requests: list, Limits: list}
}

// Env is an environment variable with one of the pod's own fields.
func Env(name, field string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: field}}}
}

// Refusing is how long a cluster may refuse what is asked: a server that has just started knows no
// rights yet.
const Refusing = 10 * time.Second

// Delete deletes a Job and all that it owns. It tries again for half a minute, or as long as the
// cluster may refuse it.
func Delete(ctx context.Context, jobs *api.Client[*batchv1.Job, *batchv1.JobList], name string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	background := metav1.DeletePropagationBackground
	for began := time.Now(); ; {
		err := jobs.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &background})
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
