package apiserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"postage/internal/sys/proc"
)

// startTimeout is how long a server may take to be ready. kcp takes half a minute on two idle
// cores.
const startTimeout = 5 * time.Minute

// scratch is a server that we started, with its files.
type scratch struct {
	kind      Kind
	dir       string // holds everything: data, credentials and log
	namespace string
	process   *proc.Process
}

// startScratch starts the server in a fresh folder and waits until it is ready.
func startScratch(ctx context.Context, file string, o Options) (_ *scratch, err error) {
	parent, err := parentFolder(o, inMemory())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	s := &scratch{kind: o.Kind}
	if s.dir, err = os.MkdirTemp(parent, "postage-apiserver-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	port, err := proc.FreePort()
	if err != nil {
		return nil, err
	}
	var args []string
	switch o.Kind {
	case KCP:
		args, err = kcpArguments(s)
	case Kubernetes:
		if args, err = genericArguments(s, port, o.Fsync); err == nil {
			// Service accounts need a controller, and none runs here.
			args = append([]string{"apiserver", "--disable-admission-plugins=ServiceAccount"}, args...)
		}
	default:
		args, err = genericArguments(s, port, o.Fsync)
	}
	if err != nil {
		return nil, err
	}
	if err := s.run(file, append(args, "--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(port), "--feature-gates="+o.FeatureGates)); err != nil {
		return nil, err
	}
	return s, s.await(ctx)
}

// parentFolder returns the folder to make the server's folder in: memory, unless it is "", or one
// on a disk if etcd must sync its writes.
func parentFolder(o Options, memory string) (string, error) {
	switch {
	case o.Fsync && volatile(os.TempDir()):
		return "", fmt.Errorf("fsync: %s is in memory, so there is no disk to sync to: set TMPDIR to a folder on a disk", os.TempDir())
	case o.Fsync:
		return os.TempDir(), nil
	case memory != "":
		return memory, nil
	case o.Kind == KCP:
		return "", errors.New("kcp's etcd always syncs to disk, and there is no file system in memory with 512 MB free: only fsync=on can be measured")
	}
	return os.TempDir(), nil
}

func (s *scratch) logFile() string { return filepath.Join(s.dir, "log") }

func (s *scratch) reach() Reach {
	r := Reach{Kubeconfig: genericKubeconfig(s.dir), Namespace: s.namespace, PID: s.process.PID, Log: s.logFile()}
	if s.kind == KCP {
		r.Kubeconfig, r.Context = kcpKubeconfig(s.dir), kcpContext
	}
	return r
}

// run starts the server.
func (s *scratch) run(file string, args []string) error {
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(file, args...)
	cmd.Dir = s.dir
	cmd.Env = environment()
	cmd.Stdout, cmd.Stderr = log, log
	if s.process, err = proc.StartSession(cmd, s.dir); errors.Is(err, errors.ErrUnsupported) {
		return errors.New("running an API server needs a Unix system: name your own cluster with --kubeconfig")
	} else if err != nil {
		return fmt.Errorf("start %s: %w", file, err)
	}
	return nil
}

// environment returns our variables without those that would change the server: KUBECONFIG, feature
// gates, and the workers' GOMAXPROCS.
func environment() []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if name != "KUBECONFIG" && !strings.HasPrefix(name, "KUBE_FEATURE_") && name != "GOMAXPROCS" {
			env = append(env, kv)
		}
	}
	return env
}

// await waits until the server is ready, and makes our namespace there.
func (s *scratch) await(ctx context.Context) error {
	r := s.reach()
	for {
		config, err := r.Config()
		if err == nil {
			err = ready(config)
		}
		if err == nil {
			s.namespace, err = createNamespace(ctx, config)
		}
		if err == nil {
			return nil
		}
		select {
		case <-s.process.Done:
			return fmt.Errorf("the server ended: %v: %s", s.process.Err(), r.LastLines(5))
		case <-ctx.Done():
			return fmt.Errorf("the server is not ready: %w: %w: %s", ctx.Err(), err, r.LastLines(3))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// ready asks /readyz.
func ready(config *rest.Config) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	defer hangUp(client)
	at, err := url.Parse(config.Host)
	if err != nil {
		return err
	}
	at.Path = "/readyz"
	client.Timeout = 5 * time.Second
	response, err := client.Get(at.String())
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return fmt.Errorf("/readyz: %s: %s", response.Status, text)
	}
	return nil
}

// stop ends the server, even while it starts, and removes its folder.
func (s *scratch) stop() error {
	if s.process != nil {
		s.process.KillGroup() // at once, as nothing is kept
	}
	return os.RemoveAll(s.dir)
}
