// Package fleet has several workers on Kubernetes carry out a plan of package load.
//
// The command creates an Indexed Job, which owns everything else: a Secret with the plan, a
// ConfigMap in which the start time is published, and one ConfigMap for each worker, which the
// worker overwrites with its counts so far. Workers do not talk to each other, and none needs the
// command once the start is published: anyone who knows the Job's name can gather the reports
// ([Client.Follow]).
package fleet

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"postage/internal/sys/kube"
	"postage/load"
)

const (
	label  = "postage-load" // on everything, with the Job's name
	folder = "/plan"        // where workers find the Secret's files
	// reportEvery is how often a worker reports. A worker that could not report for the time of
	// silence stops, and is not waited for.
	reportEvery = time.Second
	silence     = 30 * time.Second
	// startIn is how long before the first request the start time is published.
	startIn = 3 * time.Second
	// refusing is how long a cluster may refuse what is asked: a server that has just started knows
	// no rights yet.
	refusing = 10 * time.Second
	// farewell is how long an interrupted command waits for the workers' last reports.
	farewell = 10 * time.Second
)

// Load says what a fleet sends.
type Load struct {
	Workers int
	// Rate is the mean, in requests a second, and Duration how long requests become due.
	Rate     float64
	Duration time.Duration
	Poisson  bool
	// Patience is how long workers may go on after the last request is due.
	Patience time.Duration
}

// Plan says what a fleet does, and what its workers run on.
type Plan struct {
	Load
	// Files are the files, by name, that the command line Args names; PathOf says where a worker
	// has them.
	Files map[string][]byte
	Args  []string

	Image, ServiceAccount string
	CPU                   int // whole processors for each worker, 0 for no request
	HostNetwork           bool
}

// PathOf returns the path of one of the plan's files in a worker.
func PathOf(name string) string { return folder + "/" + name }

// published is the content of the ConfigMap that has the Job's name.
type published struct {
	Load
	Seed  uint64
	Start time.Time // when the first request is due; zero until all workers are ready
	Stop  time.Time // when the workers were told to stop; zero if they were not
}

// report is the content of a worker's ConfigMap.
type report struct {
	Part  load.Part
	Whole bool // it ended early, but Part has everything that it sent

	version string // of the object
}

// Client works in one namespace of a cluster.
type Client struct {
	cluster   *kube.Cluster
	namespace string
	jobs      *kube.Client[*batchv1.Job, *batchv1.JobList]
	maps      *kube.Client[*corev1.ConfigMap, *corev1.ConfigMapList]
}

// Open returns a client of the cluster that a kubeconfig names ("" for kubectl's default), and of a
// namespace there ("" for the kubeconfig's). In a pod, both defaults are the pod's own.
func Open(kubeconfig, namespace string) (*Client, error) {
	config, own, err := kube.Config(kubeconfig, "")
	if err != nil {
		return nil, err
	}
	config.Timeout = 10 * time.Second // a request without an answer is then repeated
	return connect(config, cmp.Or(namespace, own))
}

func connect(config *rest.Config, namespace string) (*Client, error) {
	c, err := kube.Connect(config, nil)
	if err != nil {
		return nil, err
	}
	return &Client{c, namespace, kube.Jobs.In(c, namespace), kube.ConfigMaps.In(c, namespace)}, nil
}

// ownedBy makes an object belong to a Job: it is deleted with it.
func ownedBy(job *batchv1.Job) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: job.Name, UID: job.UID}}
}

// Submit creates the Job and what it owns, and returns its name.
func (c *Client) Submit(ctx context.Context, p *Plan) (name string, err error) {
	failed := func(kind string, err error) error {
		return fmt.Errorf("make a %s in namespace %s: %w", kind, c.namespace, err)
	}
	text, err := json.Marshal(published{Load: p.Load, Seed: rand.Uint64()})
	if err != nil {
		return "", err
	}
	job, err := c.jobs.Create(ctx, p.job(), metav1.CreateOptions{})
	if err != nil {
		return "", failed("Job", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Delete(context.WithoutCancel(ctx), job.Name))
		}
	}()
	// Without the label, which is for the workers' reports.
	meta := metav1.ObjectMeta{Name: job.Name, OwnerReferences: ownedBy(job)}
	plan := &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"plan": string(text)}}
	if _, err := c.maps.Create(ctx, plan, metav1.CreateOptions{}); err != nil {
		return "", failed("ConfigMap", err)
	}
	meta.Labels = job.Labels
	files := &corev1.Secret{ObjectMeta: meta, Data: p.Files}
	if _, err := kube.Secrets.In(c.cluster, c.namespace).Create(ctx, files, metav1.CreateOptions{}); err != nil {
		return "", failed("Secret", err)
	}
	return job.Name, nil
}

// Delete deletes a Job and all that it owns. It tries again for half a minute, or as long as the
// cluster may refuse it.
func (c *Client) Delete(ctx context.Context, job string) error {
	began := time.Now()
	var err error
	_ = wait.PollUntilContextTimeout(ctx, time.Second, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		err = c.jobs.Delete(ctx, job, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)})
		if apierrors.IsNotFound(err) {
			err = nil
		}
		return err == nil || apierrors.IsForbidden(err) && time.Since(began) > refusing, nil
	})
	if err != nil {
		return fmt.Errorf("delete the Job %s: %w", job, err)
	}
	return nil
}

// job returns the workers' Job. Workers ask for whole processors, so that the kubelet's static
// policy gives each its own, and are spread over the nodes.
func (p *Plan) job() *batchv1.Job {
	name := label + "-" + strings.ToLower(crand.Text()[:10]) // which no other has, also if it is made in the same moment elsewhere
	meta := metav1.ObjectMeta{Name: name, Labels: map[string]string{label: name}}
	env := func(name, field string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: field}}}
	}
	container := corev1.Container{
		Name: "postage", Image: p.Image, Args: p.Args,
		Env: []corev1.EnvVar{
			env("POSTAGE_POD", "metadata.name"),
			env("POSTAGE_JOB", "metadata.labels['batch.kubernetes.io/job-name']"),
			env("POSTAGE_JOB_UID", "metadata.labels['batch.kubernetes.io/controller-uid']"),
		},
		VolumeMounts: []corev1.VolumeMount{{Name: "plan", MountPath: folder, ReadOnly: true}},
		// A pod's status then ends with the last lines of its log.
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	if p.CPU > 0 {
		list := corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(int64(p.CPU), resource.DecimalSI), corev1.ResourceMemory: resource.MustParse("512Mi")}
		container.Resources = corev1.ResourceRequirements{Requests: list, Limits: list}
	}
	deadline := p.Duration + p.Patience + 10*time.Minute
	return &batchv1.Job{
		ObjectMeta: meta,
		Spec: batchv1.JobSpec{
			Completions: new(int32(p.Workers)), Parallelism: new(int32(p.Workers)), CompletionMode: new(batchv1.IndexedCompletion),
			BackoffLimitPerIndex: new(int32(3)), PodReplacementPolicy: new(batchv1.Failed),
			ActiveDeadlineSeconds: new(int64(deadline.Seconds())), TTLSecondsAfterFinished: new(int32(3600)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels},
				Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: p.ServiceAccount, HostNetwork: p.HostNetwork,
					Containers: []corev1.Container{container},
					Volumes:    []corev1.Volume{{Name: "plan", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}}},
					Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
						Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: meta.Labels}},
					}}}},
				},
			},
		},
	}
}

// Outcome is the result of a fleet's plan.
type Outcome struct {
	*load.Result
	Notes []string
}

// merge makes one result of all reports.
func merge(plan *published, reports map[string]report) *Outcome {
	out := new(Outcome)
	var parts []load.Part
	for _, name := range slices.Sorted(maps.Keys(reports)) {
		r := reports[name]
		r.Part.Name = name
		if r.Part.Latency.Histogram != nil {
			parts = append(parts, r.Part)
		}
		switch {
		case r.Part.Final:
		case r.Whole:
			out.Notes = append(out.Notes, fmt.Sprintf("worker %d (%s) was ended early, and has reported everything that it sent", r.Part.Worker, name))
		default:
			out.Notes = append(out.Notes, fmt.Sprintf("worker %d (%s) ended before it had reported everything", r.Part.Worker, name))
		}
	}
	lasted := plan.Duration
	if !plan.Stop.IsZero() {
		lasted = plan.Stop.Sub(plan.Start)
	}
	out.Result = load.Merge(&load.Plan{
		Pacer: load.Constant{Rate: plan.Rate, For: plan.Duration}, Poisson: plan.Poisson, Seed: plan.Seed, Workers: plan.Workers,
	}, parts, lasted)
	out.Interrupted = !plan.Stop.IsZero()
	return out
}
