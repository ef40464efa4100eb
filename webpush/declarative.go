package webpush

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
)

// A Notification is a Declarative Web Push message (W3C Push API, "declarative push message"): JSON
// that a browser which knows it shows without running a service worker, and that other browsers
// hand to the service worker like any message. Title and Navigate are required.
type Notification struct {
	Title    string `json:"title"`    // required
	Navigate string `json:"navigate"` // required: the URL that a click opens
	Body     string `json:"body,omitempty"`
	Lang     string `json:"lang,omitempty"`  // BCP 47 tag
	Dir      string `json:"dir,omitempty"`   // "auto", "ltr" or "rtl"
	Tag      string `json:"tag,omitempty"`   // replaces a shown notification with the same tag
	Icon     string `json:"icon,omitempty"`  // URL
	Image    string `json:"image,omitempty"` // URL
	Badge    string `json:"badge,omitempty"` // URL of a monochrome icon

	Silent             bool `json:"silent,omitempty"`
	Renotify           bool `json:"renotify,omitempty"`           // alert again when Tag replaces a notification
	RequireInteraction bool `json:"requireInteraction,omitempty"` // stay until the user acts

	Timestamp int64 `json:"timestamp,omitempty"` // of the event, in milliseconds since 1970
	Vibrate   []int `json:"vibrate,omitempty"`   // milliseconds on and off in turns; for the service worker

	Data    any                  `json:"data,omitempty"` // any JSON, for the service worker
	Actions []NotificationAction `json:"actions,omitempty"`

	AppBadge *uint64 `json:"-"` // number on the application's icon; nil leaves it as it is
	Mutable  bool    `json:"-"` // let the service worker change the notification before it is shown
}

// A NotificationAction is a button. All but Icon are required.
type NotificationAction struct {
	Action   string `json:"action"`
	Title    string `json:"title"`
	Navigate string `json:"navigate"`
	Icon     string `json:"icon,omitempty"`
}

type declarativeJSON struct {
	WebPush      int          `json:"web_push"` // 8030, the RFC's number, tells it from other JSON
	Notification Notification `json:"notification"`
	AppBadge     *uint64      `json:"app_badge,omitempty"`
	Mutable      bool         `json:"mutable,omitempty"`
}

// ContentType is the content type that WebKit's explainer gives to declarative messages, for
// [Options.ContentType]. Browsers recognise the message by its content too.
func (Notification) ContentType() string { return "application/notification+json" }

// Message is the JSON to send. It fails if a required member is missing, Dir is
// unknown, Renotify is set without a Tag, or Data is not JSON, and with a
// [*MessageSizeError] if it is longer than [MaxMessageBytes].
func (n Notification) Message() ([]byte, error) {
	if err := n.check(); err != nil {
		return nil, fmt.Errorf("webpush: notification: %w", err)
	}
	b, err := json.Marshal(declarativeJSON{8030, n, n.AppBadge, n.Mutable})
	if err != nil {
		return nil, fmt.Errorf("webpush: notification: %w", err)
	}
	if len(b) > MaxMessageBytes {
		return nil, &MessageSizeError{Bytes: len(b), Max: MaxMessageBytes}
	}
	return b, nil
}

// isURL reports whether a browser can open it, perhaps as one of the page's own origin.
func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && text != "" && (u.Host != "" || u.Scheme != "https" && u.Scheme != "http")
}

func (n *Notification) check() error {
	switch {
	case n.Title == "":
		return errors.New("no title")
	case !isURL(n.Navigate):
		return errors.New("no URL to navigate to")
	case n.Dir != "" && n.Dir != "auto" && n.Dir != "ltr" && n.Dir != "rtl":
		return fmt.Errorf("dir %q: want auto, ltr or rtl", n.Dir)
	case n.Renotify && n.Tag == "":
		return errors.New("renotify without a tag")
	}
	for i, a := range n.Actions {
		if a.Action == "" || a.Title == "" || !isURL(a.Navigate) {
			return fmt.Errorf("action %d: action, title and navigate are required", i+1)
		}
	}
	return nil
}
