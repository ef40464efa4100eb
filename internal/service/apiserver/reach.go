package apiserver

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"postage/internal/sys/kube"
)

// Label marks every object that we make on a server. Its value is [Reach].Namespace.
const Label = "postage-run"

// Config returns client-go's configuration for the server.
func (r *Reach) Config() (*rest.Config, error) {
	config, _, err := kube.Config(r.Kubeconfig, r.Context)
	return config, err
}

// LastLines returns the last n lines of the server's log.
func (r *Reach) LastLines(n int) string {
	text, _ := os.ReadFile(r.Log)
	return lastLines(string(text), n)
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// Prefix begins the name of every object that we make outside the namespace.
func (r *Reach) Prefix() string { return r.Namespace + "-" }

// createNamespace makes a new namespace with a unique name.
func createNamespace(ctx context.Context, config *rest.Config) (string, error) {
	name := fmt.Sprintf("postage-%08x", rand.Uint32())
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{Label: name}}}
	err := connected(config, func(c *kube.Cluster) error {
		_, err := kube.Namespaces.In(c, "").Create(ctx, namespace, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return "", fmt.Errorf("make a namespace: %w", err)
	}
	return name, nil
}

// connected calls do with a client of the cluster, then closes the client's connections.
func connected(config *rest.Config, do func(*kube.Cluster) error) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	defer hangUp(client)
	c, err := kube.Connect(config, client)
	if err != nil {
		return err
	}
	return do(c)
}

// hangUp closes a client's connections. http.Client's own CloseIdleConnections does not reach them
// through client-go's wrappers.
func hangUp(client *http.Client) { utilnet.CloseIdleConnectionsFor(client.Transport) }
