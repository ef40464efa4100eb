package seal

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/url"

	"postage/proc"
	"postage/webpush/pushtest"
)

// pushServer is what servePush is started by.
const pushServer = "push-service"

// servePush is the push service of the case send=loopback, in a process of its own, a
// [proc.Server]. It is told the VAPID key that subscriptions are bound to.
func servePush(stdin io.Reader, stdout io.Writer) error {
	in := bufio.NewReader(stdin)
	var publicKey string
	if err := proc.ReadConfig(in, &publicKey); err != nil {
		return err
	}
	servers := [2]*pushtest.Server{checking: pushtest.NewServer(), discarding: pushtest.NewServer(pushtest.Discard())}
	var browsers []*pushtest.Browser
	var ready serviceAddress
	for origin, server := range servers {
		defer server.Close()
		for range 20 {
			browser := server.Subscribe(publicKey)
			if origin == checking {
				browsers = append(browsers, browser)
			}
			ready.Subscriptions[origin] = append(ready.Subscriptions[origin], browser.JSON())
		}
	}
	var err error
	if ready.Certificate, err = certificate(servers[checking]); err != nil {
		return err
	}
	if other, err := certificate(servers[discarding]); err != nil || !bytes.Equal(other, ready.Certificate) {
		return fmt.Errorf("seal: the two origins have different certificates: %w", err)
	}
	return proc.Serve(in, stdout, ready, func(json.RawMessage) (any, error) {
		counts := serviceCounts{Requests: servers[checking].Requests() + servers[discarding].Requests()}
		for _, browser := range browsers {
			for _, m := range browser.Messages() {
				if m.Err == nil && bytes.Equal(m.Data, message()) {
					counts.Opened++
				}
			}
		}
		if cpu, known := proc.CPU(); known {
			counts.CPU = &cpu
		}
		return counts, nil
	})
}

// certificate is the one that a server shows.
func certificate(server *pushtest.Server) ([]byte, error) {
	address, err := url.Parse(server.URL)
	if err != nil {
		return nil, err
	}
	transport := server.Transport()
	defer transport.CloseIdleConnections()
	connection, err := tls.Dial("tcp", address.Host, transport.TLSClientConfig)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	return connection.ConnectionState().PeerCertificates[0].Raw, nil
}
