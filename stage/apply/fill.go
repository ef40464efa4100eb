package apply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/gofrs/flock"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"postage/internal/proc"
)

// fill fills a new cache by a reflector of client-go, as an informer does when a controller starts:
// with a WatchList, the objects come as events of the watch; otherwise in a list, before the watch.
func (c *throughClient) fill(l *lane) error {
	// The reflector would log that it is stopped.
	ctx, cancel := context.WithCancel(klog.NewContext(c.in.ctx, klog.Logger{}))
	defer cancel()
	lw := c.client.reflected()
	list, watchFrom := lw.ListWithContextFunc, lw.WatchFuncWithContext
	lw.ListWithContextFunc = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		o.LabelSelector = c.in.selector()
		if o.ResourceVersion == "0" {
			o.ResourceVersion, o.ResourceVersionMatch = c.in.madeBy()
		}
		return list(ctx, o)
	}
	lw.WatchFuncWithContext = func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		o.LabelSelector = c.in.selector()
		return watchFrom(ctx, o)
	}
	var from cache.ListerWatcher = lw
	if c.in.plain {
		from = noWatchList{lw}
	}
	filled := make(chan int, 1)
	store := &filling{cache.NewStore(cache.MetaNamespaceKeyFunc), filled}
	done := make(chan struct{})
	go func() {
		defer close(done)
		cache.NewReflectorWithOptions(from, nil, store, cache.ReflectorOptions{Name: "postage"}).RunWithContext(ctx)
	}()
	var got int
	select {
	case got = <-filled:
	case <-done:
	}
	cancel()
	<-done
	if want := len(c.in.ready); got != want {
		return fmt.Errorf("the cache has %d objects, want %d", got, want)
	}
	l.cache = store.Store
	return nil
}

// noWatchList has a reflector list and watch.
type noWatchList struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported is what a reflector asks.
func (noWatchList) IsWatchListSemanticsUnSupported() bool { return true }

// filling tells how many objects the cache has when it is filled.
type filling struct {
	cache.Store
	filled chan int
}

func (f *filling) Replace(all []any, version string) error {
	err := f.Store.Replace(all, version)
	select {
	case f.filled <- len(all):
	default:
	}
	return err
}

// peaks are the peaks of resident memory while the caches were filled once, in bytes.
type peaks struct{ server, client int64 }

// alone waits until no other worker proves itself on the server, whose memory it would change.
func (in *instance) alone(ctx context.Context) (done func(), err error) {
	lock := flock.New(filepath.Join(filepath.Dir(in.reach.Log), "alone"))
	if _, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return nil, err
	}
	return func() { _ = lock.Unlock() }, nil
}

// measurePeaks fills the caches once more, from a server and in a process that have just collected
// their garbage.
func (in *instance) measurePeaks(ctx context.Context) error {
	for i := range in.lanes {
		in.lanes[i].cache, in.lanes[i].all = nil, nil
	}
	debug.FreeOSMemory()
	if err := in.settle(ctx); err != nil {
		return fmt.Errorf("have the server collect its garbage: %w", err)
	}
	server, client := in.reach.PID, os.Getpid()
	err := errors.Join(proc.ResetPeak(server), proc.ResetPeak(client))
	if errors.Is(err, proc.ErrNotAvailable) {
		return nil
	}
	if err := in.Run(len(in.lanes)); err != nil {
		return err
	}
	var known [2]error
	in.peaks.server, known[0] = proc.PeakOf(server)
	in.peaks.client, known[1] = proc.PeakOf(client)
	return errors.Join(known[:]...)
}

// settle returns when the server has collected its garbage and given most of the memory back, which
// takes its runtime some seconds.
func (in *instance) settle(ctx context.Context) error {
	config, err := in.reach.Config()
	if err != nil {
		return err
	}
	raw, err := openRaw(ctx, config)
	if err != nil {
		return err
	}
	defer raw.close()
	for range 2 { // what pools hold is garbage at the second
		status, _, err := raw.ask(ctx, http.MethodGet, "/debug/pprof/heap?gc=1", "", "*/*", nil)
		if err != nil {
			return err
		} else if status != http.StatusOK {
			return fmt.Errorf("HTTP %d", status)
		}
	}
	const look, still, longest = 100 * time.Millisecond, 2 * time.Second, 6 * time.Second
	least, since := int64(0), time.Now()
	for begun := since; time.Since(since) < still && time.Since(begun) < longest; time.Sleep(look) {
		now, err := proc.MemoryOf(in.reach.PID)
		if err != nil {
			return err
		}
		if least == 0 || now < least-least/100 {
			least, since = now, time.Now()
		}
	}
	return nil
}
