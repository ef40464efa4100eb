// Package etcd runs an etcd of one member in a server's process.
package etcd

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/embed"
)

// Inside makes a server's command start an etcd first. It replaces flag --etcd-servers by --etcd-dir
// and --etcd-fsync.
func Inside(cmd *cobra.Command) *cobra.Command {
	dir := cmd.Flags().String("etcd-dir", "", "folder for etcd's data")
	fsync := cmd.Flags().Bool("etcd-fsync", false, "have etcd sync each write to disk")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		etcd, err := start(*dir, *fsync)
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

// start starts an etcd of one member. It listens on loopback ports that the kernel picks.
func start(dir string, fsync bool) (*embed.Etcd, error) {
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
