package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"postage/internal/service/apiserver"
	"postage/lab"
	"postage/record"
)

// variable is the environment variable that passes the server's reach to workers.
func variable(server apiserver.Kind, fsync bool) string {
	name := "POSTAGE_APPLY_" + strings.ToUpper(string(server))
	if fsync {
		name += "_FSYNC"
	}
	return name
}

// reachOf says how a worker reaches the run's server.
func reachOf(server apiserver.Kind, fsync bool) (r apiserver.Reach, err error) {
	name := variable(server, fsync)
	text := os.Getenv(name)
	if text == "" {
		return r, fmt.Errorf("there is no server: %s is not set", name)
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// newService returns the run's API server of a kind.
func newService(use *serverFlags, server apiserver.Kind, fsync bool) *lab.Service {
	return &lab.Service{Start: func(ctx context.Context, log io.Writer) (*lab.Running, error) {
		o := apiserver.Options{Kind: server, Fsync: fsync, Log: log}
		if server == apiserver.User {
			o.Kubeconfig, o.Context = use.cluster()
		}
		s, err := apiserver.Start(ctx, o)
		if err != nil {
			return nil, err
		}
		running, err := running(ctx, s, variable(server, fsync))
		if err != nil {
			return nil, errors.Join(err, s.Stop())
		}
		return running, nil
	}}
}

// running returns what a server that is up can do. The environment variable tells workers of it.
func running(ctx context.Context, s *apiserver.Server, variable string) (*lab.Running, error) {
	r := s.Reach()
	refused, unserved := map[string]error{}, map[string]string{}
	var served []kind
	for _, k := range kinds() {
		if err := probeKind(ctx, s, &r, &k); err != nil {
			refused[k.name] = err
		} else {
			served = append(served, k)
		}
	}
	if len(served) > 0 { // or no content type is sent anyway
		for _, m := range medias() {
			why, err := probeMedia(ctx, &r, &served[0], &m)
			if err != nil {
				return nil, err
			}
			if why != "" {
				unserved[m.name] = why
			}
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return &lab.Running{
		// client-go's gate is for the workers: with it shut, a client that is told to use CBOR
		// silently sends JSON.
		Environment: []string{variable + "=" + string(text), gate + "=true"},
		Serves: func(c *lab.Case, contender *lab.Contender) error {
			for kind, err := range refused {
				if record.KeysOf(c.Name).Get("kind") == kind {
					return err
				}
			}
			if why := unserved[record.KeysOf(contender.Name).Get("as")]; why != "" {
				return errors.New(why)
			}
			return nil
		},
		Stop: s.Stop,
	}, nil
}

// gate is the environment variable of client-go's feature gate for CBOR.
const gate = "KUBE_FEATURE_ClientsAllowCBOR"

// verbs are the permissions that the operations need.
var verbs = []string{"create", "get", "update", "list", "delete"}

// probeKind returns why we cannot use a kind on the server: we do not have permission, or creating
// an object as a dry run shows what the server has against it.
func probeKind(ctx context.Context, s *apiserver.Server, r *apiserver.Reach, k *kind) error {
	json := byName("json")
	c, err := openClient(r, k, &json)
	if err != nil {
		return err
	}
	defer c.close()
	// First the permissions, so that nothing is requested without them.
	if err := s.Allowed(ctx, k.group, k.resource, k.namespaced, verbs...); err != nil {
		return err
	}
	name := r.Prefix() + "probe"
	o := k.make(metav1.ObjectMeta{Name: name, Labels: map[string]string{apiserver.Label: r.Namespace}})
	if _, err := c.create(ctx, o, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		return fmt.Errorf("create a %s as a dry run: %w", k.name, err)
	}
	return nil
}

// probeMedia returns why the server does not accept or does not return a content type, "" if it
// does both, with an object of a kind that it serves. client-go would fall back to JSON by itself,
// so it does not encode the object.
func probeMedia(ctx context.Context, r *apiserver.Reach, k *kind, m *media) (string, error) {
	c, err := openClient(r, k, m)
	if err != nil {
		return "", err
	}
	defer c.close()
	o := k.make(metav1.ObjectMeta{Name: r.Prefix() + "probe"})
	plain := byName("json")
	var refusals []string
	for _, way := range []struct{ sent, accepted *media }{{m, &plain}, {&plain, m}} {
		body, err := encoded(way.sent, k, o)
		if err != nil {
			return "", err
		}
		response, err := c.send(ctx, http.MethodPost, k.collection(r.Namespace)+"?dryRun=All", way.sent.contentType, way.accepted.contentType, body)
		if err != nil {
			return "", err
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		switch status := response.StatusCode; {
		case err != nil:
			return "", err
		case status == http.StatusUnsupportedMediaType || status == http.StatusNotAcceptable:
			refusals = append(refusals, strconv.Itoa(status))
		case status/100 == 2 && !way.accepted.begins(text):
			return "not served here (the server answers in another content type)", nil
		}
	}
	if len(refusals) == 0 {
		return "", nil // the rows will report anything else that is wrong
	}
	return "not served here (HTTP " + strings.Join(refusals, "/") + ")", nil
}

// errServerEnded is why everything fails once the server has ended.
var errServerEnded = errors.New("the API server ended")

// ended reports whether a process has ended.
func ended(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return true
	}
	defer func() { _ = p.Release() }()
	err = p.Signal(syscall.Signal(0))
	return errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH)
}

// explain adds the server's end to an error that it caused.
func (in *instance) explain(err error) error {
	if err == nil || in.reach.PID == 0 {
		return err
	}
	var answer apierrors.APIStatus // which a server that ends does not give
	// Its connections are closed a moment before the process ends.
	for deadline := time.Now().Add(time.Second); ; time.Sleep(10 * time.Millisecond) {
		switch {
		case ended(in.reach.PID):
			return fmt.Errorf("%w: %w; its log ends with: %s", errServerEnded, err, in.reach.LastLines(3))
		case errors.As(err, &answer) || time.Now().After(deadline):
			return err
		}
	}
}
