package apiserver

import (
	"path/filepath"
	"strconv"

	"postage/internal/sys/proc"
)

// kcpContext is the context of admin.kubeconfig for the workspace root, /clusters/root.
const kcpContext = "root"

func kcpKubeconfig(dir string) string { return filepath.Join(dir, "admin.kubeconfig") }

// kcpArguments returns kcp's flags. kcp makes its certificates and users itself.
func kcpArguments(s *scratch) ([]string, error) {
	client, err := proc.FreePort()
	if err != nil {
		return nil, err
	}
	peer, err := proc.FreePort()
	if err != nil {
		return nil, err
	}
	return []string{
		"start",
		"--root-directory=" + s.dir,
		"--embedded-etcd-client-port=" + strconv.Itoa(client),
		"--embedded-etcd-peer-port=" + strconv.Itoa(peer),
	}, nil
}
