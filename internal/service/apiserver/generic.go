package apiserver

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"postage/internal/service/tlscert"
)

func genericKubeconfig(dir string) string { return filepath.Join(dir, "kubeconfig") }

// WriteCredentials writes what a control plane at an address needs to start: a certificate and its
// key, which signs service accounts' tokens too (server.crt, server.key), the one user's token
// (tokens.csv), and a kubeconfig for that user.
func WriteCredentials(dir, address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	pair, err := tlscert.New(tlscert.ECDSAP256, net.ParseIP(host))
	if err != nil {
		return err
	}
	token := rand.Text()
	for name, text := range map[string][]byte{
		"server.crt": pair.Cert,
		"server.key": pair.Key,
		"tokens.csv": fmt.Appendf(nil, "%s,postage,postage,\"system:masters\"\n", token),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err
		}
	}
	config := api.NewConfig()
	config.Clusters["generic"] = &api.Cluster{Server: "https://" + address, CertificateAuthorityData: pair.Cert}
	config.AuthInfos["postage"] = &api.AuthInfo{Token: token}
	config.Contexts["generic"] = &api.Context{Cluster: "generic", AuthInfo: "postage"}
	config.CurrentContext = "generic"
	return clientcmd.WriteToFile(*config, genericKubeconfig(dir))
}

// genericArguments returns the flags of the generic control plane and of kube-apiserver. It writes
// the files that they name.
func genericArguments(s *scratch, port int, fsync bool) ([]string, error) {
	if err := WriteCredentials(s.dir, net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err != nil {
		return nil, err
	}
	in := func(name string) string { return filepath.Join(s.dir, name) }
	return []string{
		"--etcd-dir=" + in("etcd"),
		"--etcd-fsync=" + strconv.FormatBool(fsync),
		"--tls-cert-file=" + in("server.crt"),
		"--tls-private-key-file=" + in("server.key"),
		"--service-account-issuer=https://postage.invalid",
		"--service-account-key-file=" + in("server.crt"),
		"--service-account-signing-key-file=" + in("server.key"),
		"--token-auth-file=" + in("tokens.csv"),
		"--authorization-mode=RBAC",
	}, nil
}
