package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"postage/internal/kube"
)

const (
	// quiet is how long a worker, or the cluster, may be silent before that is said.
	quiet = 5 * time.Second
	// away is how long the cluster may be silent before the command gives up.
	away = 10 * time.Minute
)

// follower is the state of one call of Follow.
type follower struct {
	*Client
	job string
	say func(string)

	plan    published
	version string // of the plan's object
	ended   bool   // the Job has
	workersHeard
	reach
	told time.Time       // when it was last said that workers are not ready
	why  map[string]bool // what was said about pods that do not run
}

// workersHeard is what is known of the workers.
type workersHeard struct {
	reports map[string]report
	ready   map[string]time.Time // when each pod was first heard of
	heard   map[int]time.Time    // when each worker was last heard of
	silent  map[int]bool         // workers that were named because they were not
}

// reach is whether the cluster answers.
type reach struct {
	reached time.Time            // when it last did
	lost    bool                 // it was said that it does not
	back    time.Time            // when it answered for the first time after that
	last    error                // the last error
	refused map[string]time.Time // since when it refuses something
}

// Follow publishes the start time once all workers are ready, unless that is done already. It then
// gathers their reports until all have ended. When ctx ends, it tells the workers to stop, and
// waits a moment for their last reports.
func (c *Client) Follow(ctx context.Context, job string, say func(string)) (*Outcome, error) {
	now := time.Now()
	f := &follower{
		Client: c, job: job, say: say, told: now, why: map[string]bool{},
		workersHeard: workersHeard{map[string]report{}, map[string]time.Time{}, map[int]time.Time{}, map[int]bool{}},
		reach:        reach{reached: now, back: now, refused: map[string]time.Time{}},
	}
	if err := f.gather(ctx); err != nil {
		return nil, fmt.Errorf("the Job %s in namespace %s: %w", job, c.Namespace, err)
	}
	if f.plan.Start.IsZero() {
		return nil, errors.Join(fmt.Errorf("%d of %d workers became ready: kubectl describe job %s", len(f.workers()), f.plan.Workers, job), ctx.Err(), f.last)
	}
	return merge(&f.plan, f.reports), nil
}

// gather follows the Job until there is nothing more to wait for.
func (f *follower) gather(ctx context.Context) error {
	on, stop := context.WithCancel(context.WithoutCancel(ctx)) // until after an interruption
	changes, failures := make(chan *corev1.ConfigMap), make(chan error)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer stop()
	watching.Go(func() { f.watchReports(on, changes, failures) })
	ticker := time.NewTicker(reportEvery)
	defer ticker.Stop()
	if err := f.look(on); err != nil {
		return err
	}
	interrupted := ctx.Done()
	var until time.Time // the end of the farewell
	for {
		var err error
		select {
		case object := <-changes:
			err = f.take(object)
		case err := <-failures: // the server ends every watch after some time, without an error
			if err := f.refusal("watch ConfigMaps", err); err != nil {
				return err
			}
			kube.Pause(on, 100*time.Millisecond)
		case <-ticker.C:
			err = f.refusal("read the Job", f.look(on))
		case <-interrupted:
		}
		if err != nil {
			return err
		}
		now := time.Now()
		if ctx.Err() != nil && interrupted != nil { // perhaps while something else was done
			interrupted, until = nil, now.Add(farewell)
		}
		switch {
		case now.Sub(f.reached) > away:
			return f.last
		case ctx.Err() != nil && (f.plan.Start.IsZero() || now.After(until)), f.over(now):
			return f.read(on)
		case ctx.Err() != nil && f.plan.Stop.IsZero() && f.version != "":
			plan := f.plan
			plan.Stop = now
			err = f.publish(on, plan)
		case ctx.Err() == nil:
			err = f.start(on)
		}
		if err := f.refusal("change a ConfigMap", err); err != nil {
			return err
		}
	}
}

// watchReports tells of every report that comes or changes.
func (f *follower) watchReports(on context.Context, changes chan<- *corev1.ConfigMap, failures chan<- error) {
	for {
		err := f.watch(on, metav1.ListOptions{LabelSelector: label + "=" + f.job}, func(object *corev1.ConfigMap) bool {
			select {
			case changes <- object:
				return true
			case <-on.Done():
				return false
			}
		})
		select {
		case failures <- err:
		case <-on.Done():
			return
		}
	}
}

// refusal returns an error only if the cluster has been refusing something for some time. Others
// pass: it is asked again.
func (f *follower) refusal(what string, err error) error {
	if err != nil {
		f.last = err
	}
	since, refused := f.refused[what]
	switch {
	case !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err):
		delete(f.refused, what)
	case !refused:
		f.refused[what] = time.Now()
	case time.Since(since) > kube.Refusing:
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// over reports whether no more reports are to be expected.
func (f *follower) over(now time.Time) bool {
	if f.ended {
		return true
	}
	if f.plan.Start.IsZero() {
		return false
	}
	for index := range f.plan.Workers {
		if !f.final(index) {
			return now.After(f.plan.Start.Add(f.plan.Duration + f.plan.Patience + silence))
		}
	}
	return true
}

// workers returns the last pod of each worker that was heard of.
func (f *follower) workers() map[int]string {
	pods := map[int]string{}
	for name, r := range f.reports {
		if pod, known := pods[r.Part.Worker]; !known || f.ready[name].After(f.ready[pod]) {
			pods[r.Part.Worker] = name
		}
	}
	return pods
}

func (f *follower) final(index int) bool {
	for _, r := range f.reports {
		if r.Part.Worker == index && r.Part.Final {
			return true
		}
	}
	return false
}

// take takes a worker's report.
func (f *follower) take(object *corev1.ConfigMap) error {
	var r report
	if err := json.Unmarshal([]byte(object.Data["report"]), &r); err != nil {
		return fmt.Errorf("the report of %s: %w", object.Name, err)
	}
	r.version = object.ResourceVersion
	before, known := f.reports[object.Name]
	if known && before.version == r.version {
		return nil
	}
	now, index := time.Now(), r.Part.Worker
	if !known {
		f.ready[object.Name] = now
	}
	f.reports[object.Name], f.heard[index] = r, now
	if f.silent[index] {
		f.silent[index] = false
		f.say(fmt.Sprintf("worker %d reports again: %s", index, object.Name))
	}
	return nil
}

// start publishes the start time if all workers are ready.
func (f *follower) start(ctx context.Context) error {
	if f.version == "" || !f.plan.Start.IsZero() || len(f.workers()) < f.plan.Workers {
		return nil
	}
	plan := f.plan
	plan.At = time.Now()
	plan.Start, plan.Ready = plan.At.Add(startIn), maps.Clone(f.ready)
	err := f.publish(ctx, plan)
	if err == nil {
		f.say(fmt.Sprintf("%d workers are ready and begin at %s", plan.Workers, plan.Start.Format(time.TimeOnly)))
	}
	return err
}

// look reads the Job and its plan, and names the workers from which nothing comes.
func (f *follower) look(ctx context.Context) error {
	short, cancel := context.WithTimeout(ctx, quiet)
	defer cancel()
	job, err := f.Jobs.Get(short, f.job, metav1.GetOptions{})
	if err == nil {
		var object *corev1.ConfigMap
		if object, err = f.Maps.Get(short, f.job, metav1.GetOptions{}); err == nil {
			err = json.Unmarshal([]byte(object.Data["plan"]), &f.plan)
			f.version = object.ResourceVersion
		}
	}
	now := time.Now()
	gone := now.Sub(f.reached) > quiet
	if err != nil {
		if gone && !f.lost {
			f.lost = true
			f.say(fmt.Sprintf("the cluster does not answer; workers that run continue for %v: %v", silence, err))
		}
		return err
	}
	if f.lost {
		f.lost = false
		f.say("the cluster answers again")
	}
	if gone {
		f.back = now
	}
	f.reached = now
	for _, condition := range job.Status.Conditions {
		if condition.Status == corev1.ConditionTrue && (condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailed) {
			f.ended = true
		}
	}
	if f.plan.Start.IsZero() {
		late := now.Sub(f.told) > 2*quiet
		if late {
			f.told = now
			f.say(fmt.Sprintf("%d of %d workers are ready", len(f.workers()), f.plan.Workers))
		}
		f.reasons(short, late)
		return nil
	}
	for index, pod := range f.workers() {
		since := f.heard[index]
		for _, t := range []time.Time{f.back, f.plan.Start} {
			if t.After(since) {
				since = t
			}
		}
		if now.Sub(since) > quiet && !f.silent[index] && !f.final(index) {
			f.silent[index] = true
			f.say(fmt.Sprintf("worker %d (%s) has not reported for %v", index, pod, now.Sub(f.heard[index]).Round(time.Second)))
		}
	}
	return nil
}

// reasons says, once each, why pods do not run or, if it is late, that there are too few: a quota
// does that.
func (f *follower) reasons(ctx context.Context, late bool) {
	pods, err := f.Pods.List(ctx, metav1.ListOptions{LabelSelector: label + "=" + f.job})
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
		state, ended := kube.StateOf(&pods.Items[i])
		if why := cmp.Or(ended, state); why != "" && pods.Items[i].Status.Phase != corev1.PodRunning {
			once(why, fmt.Sprintf("the pod %s: %s", pods.Items[i].Name, why))
		}
	}
	if n := len(pods.Items); late && n < f.plan.Workers {
		once("few", fmt.Sprintf("there are %d of %d pods: kubectl describe job %s -n %s says why", n, f.plan.Workers, f.job, f.Namespace))
	}
}

// read reads all reports once more, if the cluster answers: the watch may not have told the last.
func (f *follower) read(ctx context.Context) error {
	all, err := f.Maps.List(ctx, metav1.ListOptions{LabelSelector: label + "=" + f.job})
	if err != nil {
		f.last = err
		return nil
	}
	for i := range all.Items {
		if err := f.take(&all.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

// publish replaces the plan that the workers read, unless it is not the one that was read here.
func (f *follower) publish(ctx context.Context, plan published) error {
	text, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]string{"resourceVersion": f.version}, "data": map[string]string{"plan": string(text)},
	})
	if err != nil {
		return err
	}
	object, err := f.Maps.Patch(ctx, f.job, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		f.version = "" // another command may have published it, or the cluster may have, without answering
		return err
	}
	f.plan, f.version = plan, object.ResourceVersion
	return nil
}

// watch calls each with every ConfigMap of a selection that is there, that comes or that changes,
// until it returns false or the server ends the watch.
func (c *Client) watch(ctx context.Context, selection metav1.ListOptions, each func(*corev1.ConfigMap) bool) error {
	events, err := c.Maps.Watch(ctx, selection) // without a version: what is there comes first
	if err != nil {
		return err
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		object, ok := event.Object.(*corev1.ConfigMap)
		if !ok {
			return apierrors.FromObject(event.Object)
		}
		if event.Type != watch.Deleted && !each(object) {
			return nil
		}
	}
	return nil
}
