package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"postage/internal/sys/kube"
)

const (
	// quiet is how long the cluster may be silent before that is said.
	quiet = 5 * time.Second
	// giveUp is how long the cluster may be silent before the command gives up.
	giveUp = 10 * time.Minute
)

// follower is the state of one call of Follow.
type follower struct {
	client *Client
	job    string
	say    func(string)

	plan    published
	version string            // of the plan's object
	ended   bool              // the Job has
	reports map[string]report // by pod
	told    time.Time         // when it was last said that workers are not ready
	why     map[string]bool   // what was said about pods that do not run

	reached time.Time // when the cluster last answered
	lost    bool      // it was said that the cluster does not answer
	last    error     // the last error of what was asked
	refused time.Time // since when it refuses something; zero if it does not
}

func (c *Client) follower(job string, say func(string)) *follower {
	now := time.Now()
	return &follower{
		client: c, job: job, say: say,
		reports: map[string]report{}, reached: now,
		told: now, why: map[string]bool{},
	}
}

// Follow publishes the start time once all workers are ready, unless that is done already. It then
// gathers their reports until all have ended. When ctx ends, it tells the workers to stop, and
// waits a moment for their last reports.
func (c *Client) Follow(ctx context.Context, job string, say func(string)) (*Outcome, error) {
	f := c.follower(job, say)
	if err := f.gather(ctx); err != nil {
		return nil, fmt.Errorf("the Job %s in namespace %s: %w", job, c.namespace, err)
	}
	if f.plan.Start.IsZero() {
		return nil, errors.Join(fmt.Errorf("%d of %d workers became ready: kubectl describe job %s", len(f.workers()), f.plan.Workers, job), ctx.Err(), f.last)
	}
	return merge(&f.plan, f.reports), nil
}

// gather looks at the Job and the reports until there is nothing more to wait for.
func (f *follower) gather(ctx context.Context) error {
	on := context.WithoutCancel(ctx) // until after an interruption
	ticker := time.NewTicker(reportEvery)
	defer ticker.Stop()
	interrupted := ctx.Done()
	var until time.Time // the end of the farewell
	for {
		err := f.look(on)
		if f.version == "" && err != nil {
			return err // there is no such Job
		}
		now := time.Now()
		if ctx.Err() != nil && interrupted != nil {
			interrupted, until = nil, now.Add(farewell)
		}
		switch {
		case now.Sub(f.reached) > giveUp:
			return f.last
		case ctx.Err() != nil && (f.plan.Start.IsZero() || now.After(until)), f.complete(now):
			return nil
		case err != nil:
		case ctx.Err() != nil && f.plan.Stop.IsZero():
			plan := f.plan
			plan.Stop = now
			err = f.publish(on, plan)
		case ctx.Err() == nil:
			err = f.start(on)
		}
		if err := f.refusal(err); err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-interrupted:
		}
	}
}

// look reads the Job, its plan and the reports, and says why workers are not ready.
func (f *follower) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, quiet)
	defer cancel()
	err := f.read(ctx)
	now := time.Now()
	f.answered(now, err)
	if err != nil {
		return err
	}
	if f.plan.Start.IsZero() {
		f.reasons(ctx, now)
	}
	return nil
}

// read reads the reports last: those of a Job that has ended are then complete.
func (f *follower) read(ctx context.Context) error {
	job, err := f.client.jobs.Get(ctx, f.job, metav1.GetOptions{})
	if err != nil {
		return err
	}
	object, err := f.client.maps.Get(ctx, f.job, metav1.GetOptions{})
	if err != nil {
		return err
	}
	plan, err := planOf(object)
	if err != nil {
		return err
	}
	all, err := f.client.maps.List(ctx, f.selection())
	if err != nil {
		return err
	}
	f.plan, f.version = *plan, object.ResourceVersion
	f.ended = slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed)
	})
	for i := range all.Items {
		if err := f.take(&all.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

// selection selects what belongs to the Job.
func (f *follower) selection() metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: label + "=" + f.job}
}

// take takes a worker's report.
func (f *follower) take(object *corev1.ConfigMap) error {
	var r report
	if err := json.Unmarshal([]byte(object.Data["report"]), &r); err != nil {
		return fmt.Errorf("the report of %s: %w", object.Name, err)
	}
	f.reports[object.Name] = r
	return nil
}

// workers returns the workers that have reported, and whether each has sent its last report.
func (f *follower) workers() map[int]bool {
	final := map[int]bool{}
	for _, r := range f.reports {
		final[r.Part.Worker] = final[r.Part.Worker] || r.Part.Final
	}
	return final
}

// answered says when the cluster ceases to answer, and when it answers again.
func (f *follower) answered(now time.Time, err error) {
	switch {
	case err != nil && !f.lost && now.Sub(f.reached) > quiet:
		f.lost = true
		f.say(fmt.Sprintf("the cluster does not answer; workers that run continue for %v: %v", silence, err))
	case err == nil && f.lost:
		f.lost = false
		f.say("the cluster answers again")
	}
	if err == nil {
		f.reached = now
	}
}

// refusal returns an error only if the cluster has been refusing something for some time. Others
// pass: it is asked again.
func (f *follower) refusal(err error) error {
	if err != nil {
		f.last = err
	}
	switch {
	case !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err):
		f.refused = time.Time{}
	case f.refused.IsZero():
		f.refused = time.Now()
	case time.Since(f.refused) > refusing:
		return err
	}
	return nil
}

// complete reports whether no more reports are to be expected.
func (f *follower) complete(now time.Time) bool {
	if f.ended || f.plan.Start.IsZero() {
		return f.ended
	}
	final := 0
	for _, last := range f.workers() {
		if last {
			final++
		}
	}
	return final == f.plan.Workers || now.After(f.plan.Start.Add(f.plan.Duration+f.plan.Patience+silence))
}

// start publishes the start time if all workers are ready.
func (f *follower) start(ctx context.Context) error {
	if !f.plan.Start.IsZero() || len(f.workers()) < f.plan.Workers {
		return nil
	}
	plan := f.plan
	plan.Start = time.Now().Add(startIn)
	err := f.publish(ctx, plan)
	if err == nil {
		f.say(fmt.Sprintf("%d workers are ready and begin at %s", plan.Workers, plan.Start.Format(time.TimeOnly)))
	}
	return err
}

// reasons says why workers are not ready. Each reason of a pod is said once. If it is late, it also
// says whether there are too few pods: a quota does that.
func (f *follower) reasons(ctx context.Context, now time.Time) {
	late := now.Sub(f.told) > 2*quiet
	if late {
		f.told = now
		f.say(fmt.Sprintf("%d of %d workers are ready", len(f.workers()), f.plan.Workers))
	}
	pods, err := kube.Pods.In(f.client.cluster, f.client.namespace).List(ctx, f.selection())
	if err != nil {
		return // it may be without that right
	}
	once := func(why, text string) {
		if !f.why[why] {
			f.why[why] = true
			f.say(text)
		}
	}
	for i := range pods.Items {
		if why := podProblem(&pods.Items[i]); why != "" {
			once(why, fmt.Sprintf("the pod %s: %s", pods.Items[i].Name, why))
		}
	}
	if n := len(pods.Items); late && n < f.plan.Workers {
		once("few", fmt.Sprintf("there are %d of %d pods: kubectl describe job %s -n %s says why", n, f.plan.Workers, f.job, f.client.namespace))
	}
}

// podProblem says why a pod does not run, or "" if it does or no reason is known.
func podProblem(pod *corev1.Pod) string {
	for i := range pod.Status.ContainerStatuses {
		state := &pod.Status.ContainerStatuses[i].State
		if waiting := state.Waiting; waiting != nil && waiting.Message != "" {
			return "waits: " + waiting.Reason + ": " + waiting.Message
		}
		if ended := state.Terminated; ended != nil && ended.ExitCode != 0 {
			lines := strings.Split(strings.TrimSpace(ended.Message), "\n")
			last := strings.Join(lines[max(0, len(lines)-5):], "\n")
			return strings.TrimSpace(fmt.Sprintf("ended on %s with status %d: %s: %s", pod.Spec.NodeName, ended.ExitCode, ended.Reason, last))
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return "waits for a node: " + condition.Message
		}
	}
	return ""
}

// publish replaces the plan that the workers read, unless it is not the one that was read here.
func (f *follower) publish(ctx context.Context, plan published) error {
	text, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{ResourceVersion: f.version}, Data: map[string]string{"plan": string(text)},
	})
	if err != nil {
		return err
	}
	_, err = f.client.maps.Patch(ctx, f.job, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
