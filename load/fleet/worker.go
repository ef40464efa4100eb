package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"postage/load"
)

// Work carries out a worker's share of a plan, in a pod of the Job: it says that it is ready, waits
// for the start, and reports until it has ended. If it cannot report, it stops.
func Work(ctx context.Context, plan load.Plan) error {
	index, err := strconv.Atoi(os.Getenv("JOB_COMPLETION_INDEX"))
	if err != nil {
		return fmt.Errorf("a worker of a fleet is a pod of an Indexed Job: %w", err)
	}
	c, err := Open("", "")
	if err != nil {
		return err
	}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: os.Getenv("POSTAGE_JOB"), UID: types.UID(os.Getenv("POSTAGE_JOB_UID"))}}
	w := &worker{client: c, job: job, name: os.Getenv("POSTAGE_POD"), index: index}
	object, err := c.maps.Get(ctx, job.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	shared, err := planOf(object)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	plan.Worker, plan.Workers, plan.Seed = w.index, shared.Workers, shared.Seed
	plan.Ready = w.ready
	var reporting sync.WaitGroup
	defer reporting.Wait()
	plan.Began = func(soFar func() *load.Result) {
		reporting.Go(func() { w.reportUntil(ctx, soFar, cancel) })
		reporting.Go(func() {
			if _, err := w.await(ctx, func(p *published) bool { return !p.Stop.IsZero() }); err == nil {
				cancel(errStopped)
			}
		})
	}
	result, err := load.Run(ctx, plan)
	early := context.Cause(ctx) // why it ended before its time
	cancel(nil)
	reporting.Wait()
	if err != nil {
		return err
	}
	// The last report has every count. The Job is not done without it.
	if early == nil || errors.Is(early, errStopped) {
		early, w.final = nil, true
	}
	w.last.Whole = !w.final
	_ = wait.PollUntilContextTimeout(context.WithoutCancel(ctx), reportEvery, silence, true, func(ctx context.Context) (bool, error) {
		err = w.report(ctx, result)
		return err == nil, nil
	})
	return errors.Join(early, err)
}

// errStopped is why a worker ends when the command was interrupted.
var errStopped = errors.New("the command was interrupted")

func planOf(object *corev1.ConfigMap) (*published, error) {
	p := new(published)
	if err := json.Unmarshal([]byte(object.Data["plan"]), p); err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	return p, nil
}

type worker struct {
	client *Client
	job    *batchv1.Job // its name and UID
	name   string
	index  int
	final  bool // it sends no more reports
	last   report
}

// ready reports that the connections are open, and waits until the start time is published.
func (w *worker) ready(ctx context.Context) (time.Time, error) {
	w.last.Part.Worker = w.index
	written := func(ctx context.Context) (bool, error) { return w.write(ctx) == nil, nil }
	if err := wait.PollUntilContextCancel(ctx, reportEvery, true, written); err != nil {
		return time.Time{}, err
	}
	if err := w.checkClock(ctx); err != nil {
		return time.Time{}, err
	}
	p, err := w.await(ctx, func(p *published) bool { return !p.Start.IsZero() })
	if err != nil {
		return time.Time{}, err
	}
	return p.Start, nil
}

// clocksMost is how far a node's clock may be off the API server's, whose times are whole seconds.
const clocksMost = 10 * time.Second

// checkClock rejects a clock by which the worker would begin much before or after the others.
func (w *worker) checkClock(ctx context.Context) error {
	before := time.Now()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: w.name + "-"}}
	created, err := w.client.maps.Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return nil // the cluster does not answer now, and what it says later is too late for this
	}
	server := created.CreationTimestamp.Time
	off, where := before.Sub(server), "ahead of"
	if behind := time.Until(server); behind > 0 {
		off, where = behind, "behind"
	}
	if server.IsZero() || off <= clocksMost {
		return nil
	}
	return fmt.Errorf("this node's clock is %v %s the API server's: set it, as by NTP", off.Round(5*time.Second), where)
}

func (w *worker) await(ctx context.Context, holds func(*published) bool) (found *published, err error) {
	plan := metav1.SingleObject(metav1.ObjectMeta{Name: w.job.Name})
	err = wait.PollUntilContextCancel(ctx, reportEvery/10, true, func(ctx context.Context) (bool, error) {
		_ = w.client.watch(ctx, plan, func(object *corev1.ConfigMap) bool {
			if p, err := planOf(object); err == nil && holds(p) {
				found = p
			}
			return found == nil
		})
		return found != nil, nil
	})
	return found, err
}

// reportUntil reports at intervals, and stops the worker when it cannot.
func (w *worker) reportUntil(ctx context.Context, soFar func() *load.Result, stop context.CancelCauseFunc) {
	reported := time.Now()
	_ = wait.PollUntilContextCancel(ctx, reportEvery, false, func(ctx context.Context) (bool, error) {
		// Not with ctx: a request that is given up could reach the server after the last report.
		err := w.report(context.WithoutCancel(ctx), soFar())
		switch {
		case err == nil:
			reported = time.Now()
		case time.Since(reported) > silence:
			stop(errors.Join(errors.New("the worker stops, since it cannot report"), err))
		}
		return false, nil
	})
}

func (w *worker) report(ctx context.Context, result *load.Result) error {
	part := result.Part()
	part.Worker, part.Final = w.index, w.final
	w.last.Part = part
	return w.write(ctx)
}

func (w *worker) write(ctx context.Context) error {
	text, err := json.Marshal(w.last)
	if err != nil {
		return err
	}
	meta := metav1.ObjectMeta{Name: w.name, Labels: map[string]string{label: w.job.Name}, OwnerReferences: ownedBy(w.job)}
	object := &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"report": string(text)}}
	_, err = w.client.maps.Update(ctx, object, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = w.client.maps.Create(ctx, object, metav1.CreateOptions{})
	}
	return err
}
