// Command generic is Kubernetes' sample generic control plane (ConfigMaps, RBAC, CRDs and
// everything else that is not about containers) with an etcd inside, so that an API server is one
// process.
//
// It takes the flags of k8s.io/kubernetes/pkg/controlplane/apiserver/samples/generic, with
// --etcd-dir and --etcd-fsync instead of --etcd-servers. It is a module of its own because it needs
// all of Kubernetes; package apiserver builds and runs it.
package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/pkg/controlplane/apiserver/samples/generic/server"
)

func main() {
	os.Exit(cli.Run(command()))
}

// command is the sample's command, which starts etcd first. internal/service/kubernetes/program has
// the same dozen lines: sharing them would take a third module that requires etcd at the same
// version.
func command() *cobra.Command {
	cmd := server.NewCommand()
	dir := cmd.Flags().String("etcd-dir", "", "folder for etcd's data")
	fsync := cmd.Flags().Bool("etcd-fsync", false, "have etcd sync each write to disk")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		etcd, err := startEtcd(*dir, *fsync)
		if err != nil {
			return fmt.Errorf("etcd: %w", err)
		}
		defer etcd.Close()
		if err := cmd.Flags().Set("etcd-servers", "http://"+etcd.Clients[0].Addr().String()); err != nil {
			return err
		}
		return run(cmd, args)
	}
	return cmd
}

// startEtcd starts an etcd of one member. It listens on loopback ports that the kernel picks.
func startEtcd(dir string, fsync bool) (*embed.Etcd, error) {
	if dir == "" {
		return nil, errors.New("--etcd-dir is missing")
	}
	loopback := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	cfg := embed.NewConfig()
	cfg.Name = "postage"
	cfg.Dir = dir
	cfg.UnsafeNoFsync = !fsync
	cfg.LogLevel = "warn"
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = loopback, loopback
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = loopback, loopback
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	etcd, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, err
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return etcd, nil
	case err := <-etcd.Err():
		etcd.Close()
		return nil, err
	case <-time.After(time.Minute):
		etcd.Close()
		return nil, errors.New("not ready after a minute")
	}
}
