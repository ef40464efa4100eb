package seal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"postage/internal/sys/proc"
	"postage/webpush/pushtest"
)

// pushServer is the name under which servePush is started.
const pushServer = "push-service"

// servePush is the push service of the case send=loopback, in a process of its own, a
// [proc.Server]. It is told the VAPID key to which subscriptions are bound.
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
	ready.Certificate = servers[checking].Certificate().Raw
	if !bytes.Equal(servers[discarding].Certificate().Raw, ready.Certificate) {
		return errors.New("seal: the two origins have different certificates")
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
