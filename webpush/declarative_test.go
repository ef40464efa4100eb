package webpush_test

import (
	"errors"
	"strings"
	"testing"

	"postage/webpush"
)

func TestNotification(t *testing.T) {
	badge := uint64(7)
	got, err := webpush.Notification{
		Title: "Dinner <is> ready", Navigate: "https://example.com/dinner", Body: "Come & eat", Lang: "en-GB", Dir: "ltr", Tag: "dinner",
		Icon: "https://example.com/i.png", Silent: true, Renotify: true, RequireInteraction: true, Data: map[string]int{"course": 2},
		Actions:  []webpush.NotificationAction{{Action: "later", Title: "Later", Navigate: "https://example.com/later"}},
		AppBadge: &badge, Mutable: true,
	}.Message()
	const want = `{"web_push":8030,"notification":{"title":"Dinner \u003cis\u003e ready","navigate":"https://example.com/dinner","body":"Come \u0026 eat",` +
		`"lang":"en-GB","dir":"ltr","tag":"dinner","icon":"https://example.com/i.png","silent":true,"renotify":true,"requireInteraction":true,` +
		`"data":{"course":2},"actions":[{"action":"later","title":"Later","navigate":"https://example.com/later"}]},"app_badge":7,"mutable":true}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
	got, err = webpush.Notification{Title: "t", Navigate: "/"}.Message()
	if err != nil || string(got) != `{"web_push":8030,"notification":{"title":"t","navigate":"/"}}` {
		t.Errorf("%s, %v", got, err)
	}
	for name, n := range map[string]webpush.Notification{
		"no title": {Navigate: "/"}, "no URL": {Title: "t"}, "dir": {Title: "t", Navigate: "/", Dir: "up"},
		"renotify": {Title: "t", Navigate: "/", Renotify: true}, "action": {Title: "t", Navigate: "/", Actions: []webpush.NotificationAction{{Action: "a"}}},
		"data": {Title: "t", Navigate: "/", Data: func() {}}, "no host": {Title: "t", Navigate: "http://"}, "no URL at all": {Title: "t", Navigate: "https://a b/"},
		"no host of an action": {Title: "t", Navigate: "/", Actions: []webpush.NotificationAction{{Action: "a", Title: "A", Navigate: "https://"}}},
	} {
		if _, err := n.Message(); err == nil || !strings.HasPrefix(err.Error(), "webpush: notification: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = webpush.Notification{Title: "t", Navigate: "/", Body: strings.Repeat("x", 4000)}.Message()
	if !errors.Is(err, webpush.TooLarge) || !strings.Contains(err.Error(), "at most 3993 fit") {
		t.Errorf("too long: %v", err)
	}
}
