package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"postage/internal/sys/kube"
)

const (
	// quiet is how long a worker, or the cluster, may be silent before that is said.
	quiet = 5 * time.Second
	// giveUp is how long the cluster may be silent before the command gives up.
	giveUp = 10 * time.Minute
)

type follower struct {
	client *Client
	job    string
	say    func(string)

	plan    published
	version string            // of the plan's object
	ended   bool              // the Job has
	reports map[string]report // by pod
	workers map[int]*heardWorker
	told    time.Time       // when it was last said that workers are not ready
	why     map[string]bool // what was said about pods that do not run
	reach   reach
}

// reach is whether the cluster answers.
type reach struct {
	reached  time.Time            // when it last did
	lost     bool                 // it was said that it does not
	regained time.Time            // when it answered for the first time after that
	last     error                // the last error
	refused  map[string]time.Time // since when it refuses something
}

type heardWorker struct {
	pod    string // its last one
	at     time.Time
	silent bool // it was named because nothing has come since
	final  bool // a report that is the last
}

func (c *Client) follower(job string, say func(string)) *follower {
	now := time.Now()
	return &follower{
		client: c, job: job, say: say,
		reports: map[string]report{}, workers: map[int]*heardWorker{},
		told: now, why: map[string]bool{},
		reach: reach{reached: now, regained: now, refused: map[string]time.Time{}},
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
		return nil, errors.Join(fmt.Errorf("%d of %d workers became ready: kubectl describe job %s", len(f.workers), f.plan.Workers, job), ctx.Err(), f.reach.last)
	}
	return merge(&f.plan, f.reports), nil
}

// gather follows the Job until there is nothing more to wait for.
func (f *follower) gather(ctx context.Context) error {
	on, stop := context.WithCancel(context.WithoutCancel(ctx)) // until after an interruption
	changes := make(chan change)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer stop()
	watching.Go(func() { f.watchReports(on, changes) })
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
		case c := <-changes:
			if c.report != nil {
				err = f.take(c.report)
			} else {
				err = f.refusal("watch ConfigMaps", c.err)
			}
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
		case now.Sub(f.reach.reached) > giveUp:
			return f.reach.last
		case ctx.Err() != nil && (f.plan.Start.IsZero() || now.After(until)), f.complete(now):
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

// change is a report that has come or has changed. Without one, the watch has ended.
type change struct {
	report *corev1.ConfigMap
	err    error
}

func (f *follower) watchReports(ctx context.Context, changes chan<- change) {
	tell := func(c change) bool {
		select {
		case changes <- c:
			return true
		case <-ctx.Done():
			return false
		}
	}
	report := func(object *corev1.ConfigMap) bool { return tell(change{report: object}) }
	for tell(change{err: f.client.watch(ctx, f.selection(), report)}) {
		time.Sleep(100 * time.Millisecond)
	}
}

// look reads the Job and its plan, and names the workers from which nothing comes.
func (f *follower) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, quiet)
	defer cancel()
	job, err := f.client.jobs.Get(ctx, f.job, metav1.GetOptions{})
	if err == nil {
		var object *corev1.ConfigMap
		if object, err = f.client.maps.Get(ctx, f.job, metav1.GetOptions{}); err == nil {
			err = json.Unmarshal([]byte(object.Data["plan"]), &f.plan)
			f.version = object.ResourceVersion
		}
	}
	now := time.Now()
	f.answered(now, err)
	if err != nil {
		return err
	}
	f.ended = slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed)
	})
	if f.plan.Start.IsZero() {
		f.reasons(ctx, now)
	} else {
		f.nameSilent(now)
	}
	return nil
}

func (f *follower) selection() metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: label + "=" + f.job}
}

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
	f.reports[object.Name] = r
	index := r.Part.Worker
	worker, heard := f.workers[index]
	if !heard {
		worker = new(heardWorker)
		f.workers[index] = worker
	}
	worker.at = time.Now()
	worker.final = worker.final || r.Part.Final
	if !known {
		worker.pod = object.Name
	}
	if worker.silent {
		worker.silent = false
		f.say(fmt.Sprintf("worker %d reports again: %s", index, object.Name))
	}
	return nil
}

// answered says when the cluster ceases to answer, and when it answers again.
func (f *follower) answered(now time.Time, err error) {
	silent := now.Sub(f.reach.reached) > quiet
	switch {
	case err != nil && silent && !f.reach.lost:
		f.reach.lost = true
		f.say(fmt.Sprintf("the cluster does not answer; workers that run continue for %v: %v", silence, err))
	case err == nil && f.reach.lost:
		f.reach.lost = false
		f.say("the cluster answers again")
	}
	if err == nil {
		f.reach.reached = now
		if silent {
			f.reach.regained = now
		}
	}
}

// refusal returns an error only if the cluster has been refusing something for some time. Others
// pass: it is asked again.
func (f *follower) refusal(what string, err error) error {
	if err != nil {
		f.reach.last = err
	}
	since, refused := f.reach.refused[what]
	switch {
	case !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err):
		delete(f.reach.refused, what)
	case !refused:
		f.reach.refused[what] = time.Now()
	case time.Since(since) > refusing:
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// complete reports whether no more reports are to be expected.
func (f *follower) complete(now time.Time) bool {
	if f.ended || f.plan.Start.IsZero() {
		return f.ended
	}
	final := 0
	for _, worker := range f.workers {
		if worker.final {
			final++
		}
	}
	return final == f.plan.Workers || now.After(f.plan.Start.Add(f.plan.Duration+f.plan.Patience+silence))
}

// start publishes the start time if all workers are ready.
func (f *follower) start(ctx context.Context) error {
	if f.version == "" || !f.plan.Start.IsZero() || len(f.workers) < f.plan.Workers {
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

// nameSilent names the workers from which nothing comes.
func (f *follower) nameSilent(now time.Time) {
	for index, worker := range f.workers {
		since := slices.MaxFunc([]time.Time{worker.at, f.reach.regained, f.plan.Start}, time.Time.Compare)
		if now.Sub(since) > quiet && !worker.silent && !worker.final {
			worker.silent = true
			f.say(fmt.Sprintf("worker %d (%s) has not reported for %v", index, worker.pod, now.Sub(worker.at).Round(time.Second)))
		}
	}
}

// reasons says why workers are not ready. Each reason of a pod is said once. If it is late, it also
// says whether there are too few pods: a quota does that.
func (f *follower) reasons(ctx context.Context, now time.Time) {
	late := now.Sub(f.told) > 2*quiet
	if late {
		f.told = now
		f.say(fmt.Sprintf("%d of %d workers are ready", len(f.workers), f.plan.Workers))
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

// read reads all reports once more, if the cluster answers: the watch may not have told the last.
func (f *follower) read(ctx context.Context) error {
	all, err := f.client.maps.List(ctx, f.selection())
	if err != nil {
		f.reach.last = err
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
	patch, err := json.Marshal(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{ResourceVersion: f.version}, Data: map[string]string{"plan": string(text)},
	})
	if err != nil {
		return err
	}
	object, err := f.client.maps.Patch(ctx, f.job, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		f.version = "" // another command may have published it, or the cluster may have, without answering
		return err
	}
	f.plan, f.version = plan, object.ResourceVersion
	return nil
}

// watch calls each with every ConfigMap of a selection that is there, that comes or that changes,
// until it returns false or the server ends the watch, as it does after some time.
func (c *Client) watch(ctx context.Context, selection metav1.ListOptions, each func(*corev1.ConfigMap) bool) error {
	events, err := c.maps.Watch(ctx, selection) // without a version: what is there comes first
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
