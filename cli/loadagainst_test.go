package cli

import (
	"net/url"
	"testing"

	"postage/load"
)

// The other side is sent the same request, unless its URL names another path.
func TestMovedTarget(t *testing.T) {
	t.Parallel()
	for to, want := range map[string]string{
		"http://b:2": "http://b:2/orders?x=1", "https://b:2/": "https://b:2/orders?x=1", "http://b:2/v2/orders": "http://b:2/v2/orders",
	} {
		old, _ := url.Parse("http://a:1/orders?x=1")
		now, _ := url.Parse(to)
		one := moved(&load.Target{Request: load.Request{URL: old}}, now)
		if got := one.Requests[0].URL.String(); got != want {
			t.Errorf("%s: %s, want %s", to, got, want)
		}
		if to != "http://b:2/v2/orders" {
			many := moved(&load.Target{Requests: []load.Request{{URL: old}}}, now)
			if got := many.Requests[0].URL.String(); got != want || old.Host != "a:1" {
				t.Errorf("%s: %s, want %s", to, got, want)
			}
		}
	}
}
