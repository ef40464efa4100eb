package pools

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"postage/internal/kube"
)

// Keys of ConfigMaps.
const (
	saidKey   = "said"
	pieceKey  = "piece"
	numberKey = "number" // of three digits, from 000
	countKey  = "count"  // how many pieces there are
	sumKey    = "sha256" // of the whole file, before it was compressed
	// partialKey is there if the pod was ended before the program had finished.
	partialKey = "partial"
)

// pieceBytes is less than the megabyte that a ConfigMap may have. It is variable for tests.
var pieceBytes = 900_000

// Worker is the program in a pod.
type Worker struct {
	ctx    context.Context
	client *kube.Client
	job    *batchv1.Job // its name and UID
}

var _ io.Writer = (*Worker)(nil)

// NewWorker returns the worker of the pod that this program runs in.
func NewWorker(ctx context.Context) (*Worker, error) {
	client, job, err := kube.InPod()
	return &Worker{ctx: ctx, client: client, job: job}, err
}

// Write passes on a line that the program says. One that cannot be passed on is lost, since only
// the record matters.
func (w *Worker) Write(p []byte) (int, error) {
	if text := strings.TrimSpace(string(p)); text != "" {
		_ = w.put(w.ctx, "said", &corev1.ConfigMap{Data: map[string]string{saidKey: text}})
	}
	return len(p), nil
}

// Deliver sends the program's file. It tries again for as long as it may; if ctx has ended, that is
// less than the 30 s which a pod has to end.
func (w *Worker) Deliver(ctx context.Context, file []byte) error {
	pieces, err := split(file)
	if err != nil {
		return err
	}
	limit := patience
	if ctx.Err() != nil {
		limit = 25 * time.Second
		for _, piece := range pieces {
			piece.Data[partialKey] = "true"
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	for _, piece := range pieces {
		for {
			err := w.put(ctx, piece.Data[numberKey], piece)
			if err == nil {
				break
			}
			if apierrors.IsForbidden(err) || !kube.Pause(ctx, time.Second) {
				return fmt.Errorf("send the record: %w", err)
			}
		}
	}
	return nil
}

// split makes the pieces that a file is sent in.
func split(file []byte) ([]*corev1.ConfigMap, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(file)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, err
	}
	count := (packed.Len() + pieceBytes - 1) / pieceBytes
	var pieces []*corev1.ConfigMap
	for i := range count {
		pieces = append(pieces, &corev1.ConfigMap{
			Data: map[string]string{
				numberKey: fmt.Sprintf("%03d", i), countKey: fmt.Sprint(count), sumKey: fmt.Sprintf("%x", sha256.Sum256(file)),
			},
			BinaryData: map[string][]byte{pieceKey: bytes.Clone(packed.Next(pieceBytes))},
		})
	}
	return pieces, nil
}

// put writes a ConfigMap that belongs to the Job.
func (w *Worker) put(ctx context.Context, name string, object *corev1.ConfigMap) error {
	return w.client.Put(ctx, w.job, label, w.job.Name+"-"+name, object)
}
