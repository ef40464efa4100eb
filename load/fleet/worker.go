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
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"postage/internal/kube"
	"postage/load"
)

// Work carries out a worker's share of a plan, in a pod of the Job: it says that it is ready, waits
// for the start, and reports until it has ended. If it cannot report, it stops.
func Work(ctx context.Context, plan load.Plan) error {
	config, err := kube.InCluster()
	if err != nil {
		return err
	}
	c, err := newClient(config, os.Getenv("POSTAGE_NAMESPACE"))
	if err != nil {
		return err
	}
	w := &worker{client: c, job: os.Getenv("POSTAGE_JOB"), uid: types.UID(os.Getenv("POSTAGE_JOB_UID")), name: os.Getenv("POSTAGE_POD")}
	if w.index, err = strconv.Atoi(os.Getenv("JOB_COMPLETION_INDEX")); err != nil {
		return fmt.Errorf("a worker of a fleet is a pod of an Indexed Job: %w", err)
	}
	object, err := c.maps.Get(ctx, w.job, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	var published published
	if err := json.Unmarshal([]byte(object.Data["plan"]), &published); err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	plan.Worker, plan.Workers = w.index, published.Workers
	plan.Ready = w.ready
	var reporting sync.WaitGroup
	plan.Began = func(soFar func() *load.Result) {
		reporting.Go(func() { w.reportUntil(ctx, soFar, cancel) })
	}
	result, err := load.Run(ctx, plan)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	cancel(nil)
	reporting.Wait()
	if err != nil {
		return err
	}
	// The last report has every count. The Job is not done without it.
	for until := time.Now().Add(silence); ; time.Sleep(reportEvery) {
		if err := w.report(context.WithoutCancel(ctx), result, true); err == nil || time.Now().After(until) {
			return err
		}
	}
}

type worker struct {
	client    *Client
	job, name string
	uid       types.UID
	index     int
	last      report
}

// ready reports that the connections are open, and waits until the start time is published.
func (w *worker) ready(ctx context.Context) (time.Time, error) {
	w.last.Ready = time.Now()
	w.last.Part.Worker = w.index
	for {
		if err := w.write(ctx); err == nil {
			break
		} else if !kube.Pause(ctx, reportEvery) {
			return time.Time{}, err
		}
	}
	for {
		start, err := w.watch(ctx)
		if err != nil && !kube.Pause(ctx, reportEvery/2) {
			return time.Time{}, err
		}
		if !start.IsZero() {
			w.last.Released = time.Now()
			return start, nil
		}
	}
}

// watch waits until the plan has a start time. It returns zero if the server ends the watch first.
func (w *worker) watch(ctx context.Context) (time.Time, error) {
	startOf := func(object *corev1.ConfigMap) (time.Time, error) {
		var p published
		err := json.Unmarshal([]byte(object.Data["plan"]), &p)
		return p.Start, err
	}
	object, err := w.client.maps.Get(ctx, w.job, metav1.GetOptions{})
	if err != nil {
		return time.Time{}, err
	}
	if start, err := startOf(object); err != nil || !start.IsZero() {
		return start, err
	}
	watch, err := w.client.maps.Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", w.job).String(), ResourceVersion: object.ResourceVersion,
	})
	if err != nil {
		return time.Time{}, err
	}
	defer watch.Stop()
	for event := range watch.ResultChan() {
		object, ok := event.Object.(*corev1.ConfigMap)
		if !ok {
			return time.Time{}, apierrors.FromObject(event.Object)
		}
		if start, err := startOf(object); err != nil || !start.IsZero() {
			return start, err
		}
	}
	return time.Time{}, nil // the server ends every watch after some time
}

// reportUntil reports at intervals, and stops the worker when it cannot.
func (w *worker) reportUntil(ctx context.Context, soFar func() *load.Result, stop context.CancelCauseFunc) {
	reported := time.Now()
	for kube.Pause(ctx, reportEvery) {
		err := w.report(ctx, soFar(), false)
		switch {
		case err == nil:
			reported = time.Now()
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err), time.Since(reported) > silence:
			stop(errors.Join(errors.New("the worker stops, since it cannot report"), err))
			return
		}
	}
}

func (w *worker) report(ctx context.Context, result *load.Result, final bool) error {
	part, err := result.Part()
	if err != nil {
		return err
	}
	part.Worker, part.Final = w.index, final
	w.last.Part = part
	return w.write(ctx)
}

// write overwrites the worker's own object.
func (w *worker) write(ctx context.Context) error {
	text, err := json.Marshal(w.last)
	if err != nil {
		return err
	}
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: w.name, Labels: map[string]string{label: w.job}, OwnerReferences: kube.OwnedBy(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: w.job, UID: w.uid}})},
		Data:       map[string]string{"report": string(text)},
	}
	_, err = w.client.maps.Update(ctx, object, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = w.client.maps.Create(ctx, object, metav1.CreateOptions{})
	}
	return err
}
