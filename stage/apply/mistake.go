package apply

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// mistake is the page's client. The page set content type and limits on the config only after the
// client was made, when it was too late. The client sends JSON for every content type, at no more
// than 5 requests a second after the first 10.
//
// JSON is what client-go of the page's time (v0.32) sends if no content type is set. In v0.36.3,
// its generated clients send protobuf for built-in kinds, so JSON is set here, in time, to send
// what the page sent.
type mistake struct {
	limiter flowcontrol.RateLimiter
}

// openMistaken makes the page's client.
func openMistaken(in *instance, asked *media) (caller, error) {
	config, err := in.reach.Config()
	if err != nil {
		return nil, err
	}
	config.ContentType = byName("json").contentType
	config.QPS = 0 // the value in a config that nobody has set: client-go then takes its default
	in.mistaken = &mistake{flowcontrol.NewTokenBucketRateLimiter(rest.DefaultQPS, rest.DefaultBurst)}
	// client-go makes the same limiter itself. It is made here so that drain can take the burst
	// from it.
	config.RateLimiter = in.mistaken.limiter
	c, err := newClient(config, in.reach.Namespace, &in.kind)
	if err != nil {
		return nil, err
	}
	// The mistake.
	config.ContentType = asked.contentType
	config.QPS = -1
	config.RateLimiter = nil
	return &throughClient{client: c, in: in}, nil
}

// drain uses up the burst that the limiter has saved while other contenders had their turn, so that
// each batch is like the middle of the page's run.
func (m *mistake) drain() {
	for m.limiter.TryAccept() {
	}
}

// check returns an error unless the client is limited as the page's was.
func (m *mistake) check() error {
	if qps := m.limiter.QPS(); qps != rest.DefaultQPS {
		return fmt.Errorf("the limiter lets %v requests a second pass, want %v", qps, rest.DefaultQPS)
	}
	return nil
}
