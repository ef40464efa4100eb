// Command generic is Kubernetes' sample generic control plane (ConfigMaps, RBAC, CRDs and
// everything else that is not about containers) with an etcd inside, so that an API server is one
// process.
//
// It takes the flags of k8s.io/kubernetes/pkg/controlplane/apiserver/samples/generic, with
// --etcd-dir and --etcd-fsync instead of --etcd-servers. Package apiserver builds and runs it.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/pkg/controlplane/apiserver/samples/generic/server"

	"postage/internal/service/kubernetes/program/etcd"
)

func main() { os.Exit(cli.Run(etcd.Inside(server.NewCommand()))) }
