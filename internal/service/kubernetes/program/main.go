// Command program combines the programs of a Kubernetes node and its control plane:
//
//	program apiserver|controllers|scheduler|kubelet FLAGS
//
// They take the flags of kube-apiserver, kube-controller-manager, kube-scheduler and kubelet. The
// API server starts an etcd inside, and has --etcd-dir and --etcd-fsync instead of --etcd-servers.
// It is a module of its own because it needs all of Kubernetes; package apiserver builds it, and
// package kubetest runs it.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"

	"postage/internal/service/kubernetes/program/etcd"
)

func main() {
	commands := map[string]func() *cobra.Command{
		"apiserver":   func() *cobra.Command { return etcd.Inside(apiserver.NewAPIServerCommand()) },
		"controllers": controllers.NewControllerManagerCommand,
		"scheduler":   func() *cobra.Command { return scheduler.NewSchedulerCommand() },
		"kubelet":     func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
	}
	name := ""
	if len(os.Args) > 1 {
		name = os.Args[1]
	}
	command, ok := commands[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "there is no program %q: want apiserver, controllers, scheduler or kubelet\n", name)
		os.Exit(2)
	}
	os.Args = append(os.Args[:1], os.Args[2:]...)
	os.Exit(cli.Run(command()))
}
