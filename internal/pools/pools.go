// Package pools runs this program as one Job for each pool of a cluster's nodes, and brings back
// the file that it wrote there.
//
//  1. A pool is the nodes that have one value of a label, such as one machine type. Its Job has one
//     pod, which is never tried again. Two such pods never share a node, whosever they are: the
//     second waits until the first has ended.
//  2. The pod sends its file ([Worker.Deliver]) compressed, in ConfigMaps of at most [pieceBytes].
//     They belong to the Job, as does one with what the pod says meanwhile ([Worker.Write]).
//  3. [Client.Run] puts the pieces together, checks their sum, and deletes the Job.
//
// Note: the file does not come by way of the pod's log, which the kubelet cuts at 10 MB and which
// is gone with the node, nor by exec, which needs a pod that waits to be read and a right to run
// anything in it.
package pools

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"postage/internal/kube"
	"postage/internal/kube/api"
)

const (
	label  = "postage-run" // on everything, with the Job's name
	folder = "/record"     // a folder that the program can write to
	// patience is how long a pool may take for everything except measuring: a node may have to be
	// started, and the image to be pulled.
	patience = 10 * time.Minute
)

// File is the path at which the program finds room for its file.
const File = folder + "/record.txt"

// Pool is the nodes of a cluster that have one value of a label.
type Pool struct{ Name, Key, Value string }

// Plan says what every pool runs.
type Plan struct {
	Pools                 []Pool
	Args                  []string
	Image, ServiceAccount string
	CPU                   int // whole processors, 0 for no request
	HostNetwork           bool
	Budget                time.Duration // how long the program measures
}

// Client works in one namespace of a cluster.
type Client struct{ *kube.Client }

// Open returns a client of the cluster that a kubeconfig names ("" for kubectl's default), and of a
// namespace there ("" for the kubeconfig's).
func Open(kubeconfig, namespace string) (*Client, error) {
	c, err := kube.Open(kubeconfig, namespace)
	return &Client{c}, err
}

// Pools returns the pools that labels name: "key=value,value" as it stands, and for "key" one for
// each value that nodes have, for which the client must be allowed to list nodes.
func (c *Client) Pools(ctx context.Context, labels []string) ([]Pool, error) {
	var found []Pool
	for _, text := range labels {
		key, list, given := strings.Cut(text, "=")
		if faults := validation.IsQualifiedName(key); len(faults) > 0 {
			return nil, fmt.Errorf("%q is not a label of nodes: %s", text, strings.Join(faults, "; "))
		}
		values := strings.Split(list, ",")
		if !given {
			var err error
			if values, err = c.values(ctx, key); err != nil {
				return nil, err
			}
		}
		for _, value := range values {
			if faults := validation.IsValidLabelValue(value); value == "" || len(faults) > 0 {
				return nil, fmt.Errorf("%q: %q is not a label's value: %s", text, value, strings.Join(append(faults, "want "+key+"=value,value"), "; "))
			}
			pool := Pool{Name: value, Key: key, Value: value}
			if slices.Contains(found, pool) {
				return nil, fmt.Errorf("the pool %s=%s is named twice", key, value)
			}
			found = append(found, pool)
		}
	}
	named := map[string]int{}
	for _, pool := range found {
		named[pool.Value]++
	}
	for i := range found {
		if pool := &found[i]; named[pool.Value] > 1 { // under several keys
			pool.Name = strings.ReplaceAll(pool.Key, "/", "_") + "=" + pool.Value
		}
	}
	return found, nil
}

// values returns those that nodes have of a label.
func (c *Client) values(ctx context.Context, key string) ([]string, error) {
	nodes, err := api.Nodes.In(c.Cluster, "").List(ctx, metav1.ListOptions{LabelSelector: key})
	if err != nil {
		return nil, fmt.Errorf("list the nodes that have the label %s (%s=VALUE,VALUE needs no right to list them): %w", key, key, err)
	}
	var values []string
	for i := range nodes.Items {
		if value := nodes.Items[i].Labels[key]; value != "" && !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("no node has a value of the label %s: kubectl get nodes --show-labels", key)
	}
	slices.Sort(values)
	return values, nil
}

func (p *Plan) job(pool Pool) *batchv1.Job {
	keys := map[string]bool{} // pools of different labels may wait for one node
	for _, pool := range p.Pools {
		keys[pool.Key] = true
	}
	spec := kube.Spec{
		Label: label, Args: p.Args, Image: p.Image, ServiceAccount: p.ServiceAccount, CPU: p.CPU, Memory: "2Gi", HostNetwork: p.HostNetwork,
		Folder: folder, Deadline: time.Duration(len(keys))*p.Budget + patience,
	}
	job := spec.Job(func(string) corev1.VolumeSource {
		return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	})
	pod := &job.Spec.Template.Spec
	job.Spec.BackoffLimit = new(int32(0)) // it is never tried again
	run := &pod.Containers[0]
	run.WorkingDir, run.Env = folder, append(run.Env, corev1.EnvVar{Name: "TMPDIR", Value: folder})
	pod.NodeSelector = map[string]string{pool.Key: pool.Value}
	pod.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
		TopologyKey:   corev1.LabelHostname,
		LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: label, Operator: metav1.LabelSelectorOpExists}}},
	}}}}
	return job
}

// Run has a pool carry out the plan and returns the file that it wrote, with an error if its pod
// was ended before it had finished. What happens is told to say. The Job is gone afterwards,
// however it ends.
func (c *Client) Run(ctx context.Context, p *Plan, pool Pool, say func(string)) (file []byte, err error) {
	job := p.job(pool)
	_, err = c.Jobs.Create(ctx, job, metav1.CreateOptions{})
	if err != nil {
		err = fmt.Errorf("make a Job in namespace %s: %w", c.Namespace, err)
		if apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
			return nil, err // the cluster's answer; without one there may be a Job
		}
	}
	defer func() { err = errors.Join(err, c.Delete(context.WithoutCancel(ctx), job.Name)) }()
	if err != nil {
		return nil, err
	}
	told := map[string]bool{}
	once := func(text string) {
		if text != "" && !told[text] {
			told[text] = true
			say(text)
		}
	}
	readable := time.Now() // when the cluster last answered
	pod := false
	for began := time.Now(); ; kube.Pause(ctx, 500*time.Millisecond) {
		s, err := c.look(ctx, job.Name)
		switch {
		case ctx.Err() != nil:
			return nil, errors.New("interrupted")
		case apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || err != nil && time.Since(readable) > patience:
			return nil, fmt.Errorf("the Job %s in namespace %s: %w", job.Name, c.Namespace, err)
		case err == nil:
			readable = time.Now()
			pod = pod || s.pod
			if !pod && s.ended == "" && time.Since(began) > 5*time.Second {
				once(fmt.Sprintf("has no pod: kubectl describe job %s -n %s says why", job.Name, c.Namespace))
			}
			once(s.state)
			once(s.said)
			if file, err := join(s.pieces); file != nil || err != nil {
				if err == nil && s.pieces[0].Data[partialKey] != "" {
					err = errors.New("its pod was ended before it had finished: the record has what it had measured until then")
				}
				return file, err
			}
			if s.ended != "" {
				return nil, errors.New(s.ended)
			}
		}
	}
}

// sight is what can be seen of a Job.
type sight struct {
	pod    bool   // whether it has one
	state  string // what its pod is doing, in words
	said   string // what the program last said
	ended  string // why it ended, "" if it has not
	pieces []corev1.ConfigMap
}

// look reads the Job first: what it owned when it ended is then read as well.
func (c *Client) look(ctx context.Context, name string) (*sight, error) {
	job, err := c.Jobs.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	pods, err := c.Pods.List(ctx, metav1.ListOptions{LabelSelector: label + "=" + name})
	if err != nil {
		return nil, err
	}
	all, err := c.Maps.List(ctx, metav1.ListOptions{LabelSelector: label + "=" + name})
	if err != nil {
		return nil, err
	}
	s := new(sight)
	for i := range all.Items {
		if said, ok := all.Items[i].Data[saidKey]; ok {
			s.said = said
		} else {
			s.pieces = append(s.pieces, all.Items[i])
		}
	}
	var last string
	for i := range pods.Items {
		s.pod = true
		s.state, last = kube.StateOf(&pods.Items[i])
	}
	for _, condition := range job.Status.Conditions {
		if condition.Status != corev1.ConditionTrue {
			continue
		}
		switch condition.Type {
		case batchv1.JobComplete:
			s.ended = "its pod ended without a record"
		case batchv1.JobFailed:
			s.ended = condition.Message
		}
	}
	if s.ended != "" && last != "" {
		s.ended = last
	}
	return s, nil
}

// join puts a file's pieces together. It returns nil while there are pieces to come.
func join(pieces []corev1.ConfigMap) ([]byte, error) {
	if len(pieces) == 0 || strconv.Itoa(len(pieces)) != pieces[0].Data[countKey] {
		return nil, nil
	}
	slices.SortFunc(pieces, func(a, b corev1.ConfigMap) int {
		return strings.Compare(a.Data[numberKey], b.Data[numberKey])
	})
	var packed bytes.Buffer
	for i := range pieces {
		packed.Write(pieces[i].BinaryData[pieceKey])
	}
	r, err := gzip.NewReader(&packed)
	if err != nil {
		return nil, fmt.Errorf("unpack the record: %w", err)
	}
	file, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("unpack the record: %w", err)
	}
	if want, is := pieces[0].Data[sumKey], fmt.Sprintf("%x", sha256.Sum256(file)); want != is {
		return nil, fmt.Errorf("the record has the checksum %s, and had %s when it was sent", is, want)
	}
	return file, nil
}
