// Package kube is what Postage's Jobs on Kubernetes have in common.
package kube

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
	config, namespace, err := Config(kubeconfig, namespace)
	if err != nil {
		return nil, err
	}
	return Connect(config, namespace)
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

// A Spec says what the pods of a Job run.
type Spec struct {
	Label                 string // on everything, with the Job's name, which begins with it
	Args                  []string
	Image, ServiceAccount string
	CPU                   int    // whole processors for each pod, 0 for no request
	Memory                string // beside them
	HostNetwork           bool
	Folder                string // where the pod has the volume
	Deadline              time.Duration
}

// Job returns a Job of one pod with one volume. It asks for whole processors, so that the kubelet's
// static policy gives each container its own.
func (s *Spec) Job(volume func(name string) corev1.VolumeSource) *batchv1.Job {
	name := s.Label + "-" + strings.ToLower(rand.Text()[:10]) // which no other has, also if it is made in the same moment elsewhere
	meta := metav1.ObjectMeta{Name: name, Labels: map[string]string{s.Label: name}}
	env := func(name, field string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: field}}}
	}
	container := corev1.Container{
		Name: "postage", Image: s.Image, Args: s.Args,
		Env: []corev1.EnvVar{
			env("POSTAGE_POD", "metadata.name"), env("POSTAGE_NAMESPACE", "metadata.namespace"),
			env("POSTAGE_JOB", "metadata.labels['batch.kubernetes.io/job-name']"),
			env("POSTAGE_JOB_UID", "metadata.labels['batch.kubernetes.io/controller-uid']"),
		},
		VolumeMounts: []corev1.VolumeMount{{Name: "volume", MountPath: s.Folder}},
		// A pod's status then ends with the last lines of its log.
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	if s.CPU > 0 {
		list := corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(int64(s.CPU), resource.DecimalSI), corev1.ResourceMemory: resource.MustParse(s.Memory)}
		container.Resources = corev1.ResourceRequirements{Requests: list, Limits: list}
	}
	return &batchv1.Job{
		ObjectMeta: meta,
		Spec: batchv1.JobSpec{
			Completions: new(int32(1)), Parallelism: new(int32(1)), ActiveDeadlineSeconds: new(int64(s.Deadline.Seconds())), TTLSecondsAfterFinished: new(int32(3600)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels},
				Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: s.ServiceAccount, HostNetwork: s.HostNetwork,
					Containers: []corev1.Container{container}, Volumes: []corev1.Volume{{Name: "volume", VolumeSource: volume(name)}},
				},
			},
		},
	}
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
