package seal

import (
	"encoding/json"

	webpushgo "github.com/SherClockHolmes/webpush-go"

	"postage/webpush"
)

// webpush-go decodes and checks the browser's key for every message, package webpush once, when it
// parses the subscription. Here both begin with the subscription as it is stored.

// parsingEach is a contender that parses the subscription for every message.
func parsingEach(c *contender, name string, parse func(*recipient) error) *contender {
	open := c.open
	c.name = name
	c.open = func(w *workload, pad padding) (maker, error) {
		m, err := open(w, pad)
		make := m.make
		m.make = func(i int) (product, error) {
			if err := parse(&w.recipients[i]); err != nil {
				return product{}, err
			}
			return make(i)
		}
		return m, err
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
	return parsingEach(libraryRow(m, true), "lib=webpush/mode="+m.name+"/as=request/parse=each", func(r *recipient) (err error) {
		r.sub, err = webpush.ParseSubscription(r.stored)
		return err
	})
}
