package seal

import (
	"encoding/json"

	webpushgo "github.com/SherClockHolmes/webpush-go"

	"postage/webpush"
)

// webpush-go decodes and checks the browser's key for every message, package webpush once, when it
// parses the subscription. Here both begin with the subscription as it is stored.

// parsing makes messages with another maker, from subscriptions that it parses each time.
type parsing struct {
	maker
	workload *workload
	parse    func(*recipient) error
}

func (p *parsing) make(i int) error {
	if err := p.parse(&p.workload.recipients[i]); err != nil {
		return err
	}
	return p.maker.make(i)
}

// parsingEach is a contender that parses the subscription for every message.
func parsingEach(c *contender, name string, parse func(*recipient) error) *contender {
	open := c.open
	c.name = name
	c.open = func(w *workload, pad padding) (maker, error) {
		m, err := open(w, pad)
		return &parsing{m, w, parse}, err
	}
	return c
}

func webpushGoParsing() *contender {
	c := webpushGo("lib=webpush-go")
	return parsingEach(c, "lib=webpush-go/parse=each", func(r *recipient) error {
		r.theirs = new(webpushgo.Subscription)
		return json.Unmarshal(r.stored, r.theirs)
	})
}

func libraryParsing(m mode) *contender {
	return parsingEach(library(m, true), "lib=webpush/mode="+m.name+"/as=request/parse=each", func(r *recipient) (err error) {
		r.sub, err = webpush.ParseSubscription(r.stored)
		return err
	})
}
