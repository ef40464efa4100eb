package seal

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"postage/lab"
	"postage/webpush"
)

// payloadCase has one notification in two forms. A classic payload is JSON of the application's
// own, which its service worker shows. A declarative one (W3C Push API, "declarative push message")
// is shown by the browser itself.
func payloadCase() lab.Case {
	c := lab.Case{
		Name:     "Seal/slice=payload",
		Doc:      "What does a declarative notification cost beside JSON of one's own, encoded and sealed with session keys?",
		Baseline: "lib=webpush/mode=session/payload=classic",
	}
	classic := form{"classic", "application/octet-stream", encodeClassic, readClassic}
	declarative := form{"declarative", shown.ContentType(), webpush.Notification.Message, readDeclarative}
	for _, f := range []form{classic, declarative} {
		c.Contenders = append(c.Contenders, f.contender().row(false))
	}
	return c
}

var shown = webpush.Notification{
	Title: "Dinner is ready", Body: "Come to table, it is getting cold.", Navigate: "https://example.com/dinner/17",
	Tag: "dinner", Lang: "en", Icon: "https://example.com/icons/dinner.png",
}

// A form is a way to write a notification.
type form struct {
	name, contentType string
	encode            func(webpush.Notification) ([]byte, error)
	read              func(text []byte) (webpush.Notification, error)
}

func (f form) contender() *contender {
	return &contender{
		name: "lib=webpush/mode=session/payload=" + f.name, settings: map[string]string{"content-type": f.contentType},
		key: perSubscription, token: perOrigin,
		open: func(w *workload, pad padding) (m maker, err error) {
			if w.message, err = f.encode(shown); err != nil {
				return m, err
			}
			if got, err := f.read(w.message); err != nil || !reflect.DeepEqual(got, shown) {
				return m, fmt.Errorf("the service worker or browser reads %+v: %w", got, err)
			}
			c, err := newClient(w, webpush.Config{Reuse: modes[2].reuse})
			if err != nil {
				return m, err
			}
			options, buffer := webpush.Options{TTL: ttlSeconds * time.Second, ContentType: f.contentType}, make([]byte, 0, webpush.MaxBodyBytes)
			return maker{close: c.Close, make: func(i int) (p product, err error) {
				message, err := f.encode(shown)
				if err != nil {
					return p, err
				}
				p.body, p.header, err = c.AppendMessage(buffer, message, w.recipients[i].sub, options)
				return p, err
			}}, nil
		},
	}
}

// classicJSON is what the service worker of an application reads.
type classicJSON struct {
	Title string `json:"title"`
	Body  string `json:"body"`
	URL   string `json:"url"`
	Tag   string `json:"tag"`
	Lang  string `json:"lang"`
	Icon  string `json:"icon"`
}

func encodeClassic(n webpush.Notification) ([]byte, error) {
	return json.Marshal(classicJSON{n.Title, n.Body, n.Navigate, n.Tag, n.Lang, n.Icon})
}

func readClassic(text []byte) (webpush.Notification, error) {
	var j classicJSON
	err := json.Unmarshal(text, &j)
	return webpush.Notification{Title: j.Title, Body: j.Body, Navigate: j.URL, Tag: j.Tag, Lang: j.Lang, Icon: j.Icon}, err
}

func readDeclarative(text []byte) (webpush.Notification, error) {
	var j struct {
		WebPush      int                  `json:"web_push"`
		Notification webpush.Notification `json:"notification"`
	}
	err := json.Unmarshal(text, &j)
	if err == nil && j.WebPush != 8030 {
		err = fmt.Errorf("web_push is %d", j.WebPush)
	}
	return j.Notification, err
}
