// Package apiserver brings up a real Kubernetes-style API server for a measurement or a test, and
// removes it afterwards.
//
// There are four kinds:
//
//   - [Generic], Kubernetes' sample generic control plane with an etcd inside: all of
//     kube-apiserver except what runs containers.
//   - [KCP], github.com/kcp-dev/kcp, built from the module in kcp/, which holds nothing but go.mod
//     and go.sum.
//   - [Kubernetes], kube-apiserver itself with an etcd inside. It also serves kinds about
//     containers, but nothing here runs containers: package kubernetes does.
//   - [User], any cluster of the user's, named by a kubeconfig.
//
// Generic and Kubernetes are built from the module in ../kubernetes/program, a module of its own
// because it needs all of Kubernetes.
//
// A server of the first three kinds is built once (see [Program]) and runs as a process of its own
// on loopback ports. Stop ends it and removes its data. If kill -9 ends the calling process, the
// server ends too: on Linux the kernel ends it (PR_SET_PDEATHSIG), and on every Unix a watchdog
// process notices the end of its input, ends the server and removes the folder.
//
// etcd's data is on a file system in memory where there is one with room (/dev/shm), else in
// TMPDIR, and synced to disk only if [Options].Fsync asks for it.
//
// On the user's cluster, namespaced objects are in one namespace that Start makes and Stop deletes.
// All other objects have [Reach.Prefix] before their names.
package apiserver

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"
)

// Kind is a kind of server, by the name that rows have for it.
type Kind string

// The kinds of servers.
const (
	Generic    Kind = "generic"
	KCP        Kind = "kcp"
	Kubernetes Kind = "kubernetes"
	User       Kind = "user"
)

// Options say which server to start.
type Options struct {
	Kind Kind
	// Fsync has etcd sync each write to disk, as a production server does.
	Fsync bool
	// Kubeconfig and Context name the user's cluster. Kubeconfig has no default, not even
	// KUBECONFIG or ~/.kube/config: we write only to a cluster that the user has named. An empty
	// Context is the current one.
	Kubeconfig, Context string
	// FeatureGates are the server's; CBORServingAndStorage=true when empty.
	FeatureGates string
	// Log is where building a server is announced; nil for nowhere.
	Log io.Writer
}

// Reach says how a process reaches a server. Processes pass it on as JSON.
type Reach struct {
	Kubeconfig string // file
	Context    string // of the kubeconfig, "" for its current one
	Namespace  string // to work in
	PID        int    // of the server, 0 for one of the user's
	Log        string // log file of a server of ours, "" for one of the user's
}

// Server is a running API server.
type Server struct {
	reach   Reach
	scratch *scratch // nil for a cluster of the user's
	user    *user
}

// Start starts a server and returns once it is ready. ctx bounds the start alone. The caller must
// Stop it.
func Start(ctx context.Context, o Options) (*Server, error) {
	o.FeatureGates = cmp.Or(o.FeatureGates, "CBORServingAndStorage=true")
	o.Log = cmp.Or(o.Log, io.Discard)
	s, err := start(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("apiserver: %s: %w", o.Kind, err)
	}
	return s, nil
}

func start(ctx context.Context, o Options) (*Server, error) {
	if o.Kind == User {
		u, err := openUser(ctx, o)
		if err != nil {
			return nil, err
		}
		return &Server{user: u, reach: Reach{Kubeconfig: o.Kubeconfig, Context: o.Context, Namespace: u.namespace}}, nil
	}
	file, err := Program(ctx, o.Kind, o.Log)
	if err != nil {
		return nil, err
	}
	sc, err := startScratch(ctx, file, o)
	if err != nil {
		return nil, err
	}
	return &Server{scratch: sc, reach: sc.reach()}, nil
}

// Reach says how to reach the server.
func (s *Server) Reach() Reach { return s.reach }

// Stop ends a server that Start started and removes its data, or deletes our objects from the
// user's cluster.
func (s *Server) Stop() error {
	var err error
	if s.user != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		err = s.user.close(ctx)
	} else {
		err = s.scratch.stop()
	}
	if err != nil {
		return fmt.Errorf("apiserver: stop: %w", err)
	}
	return nil
}
