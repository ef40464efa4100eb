package webpush

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestRowsWork reads subscriptions as databases hold them.
func TestRowsWork(t *testing.T) {
	plain := string(subscriptionText("https://push.example/x", testP256dh, testAuth))
	want, err := ParseSubscription([]byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	keys := func(p256dh, auth string) string {
		return string(subscriptionText("https://push.example/x", p256dh, auth))
	}
	for name, row := range map[string]string{
		"a BOM":                       "\ufeff" + plain,
		"double-encoded":              fmt.Sprintf("%q", plain),
		"in an object":                `{"userId": 5, "subscription": ` + plain + `}`,
		"in an object, as a string":   `{"subscription": ` + fmt.Sprintf("%q", plain) + `}`,
		"a time as a string":          strings.Replace(plain, "null", `"1700000000000"`, 1),
		"an ISO time":                 strings.Replace(plain, "null", `"2026-01-01T00:00:00Z"`, 1),
		"an empty time":               strings.Replace(plain, "null", `""`, 1),
		"unused bits in p256dh":       keys(testP256dh[:86]+"5", testAuth),
		"unused bits in auth":         keys(testP256dh, testAuth[:21]+"h"),
		"a line end behind a key":     keys(testP256dh+"\n", testAuth+"\r\n"),
		"padding that is one too few": keys(testP256dh, testAuth+"="),
	} {
		if got, err := ParseSubscription([]byte(row)); err != nil || got.Fingerprint() != want.Fingerprint() {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStoredSubscription goes through a column and through a struct of the caller.
func TestStoredSubscription(t *testing.T) {
	sub := subscriptionAt(t, "https://push.example/x")
	value, err := sub.Value()
	if err != nil {
		t.Fatal(err)
	}
	for _, column := range []any{value, []byte(sub.JSON()), nil} {
		got := Subscription{}
		if err := got.Scan(column); err != nil || got.Fingerprint() != sub.Fingerprint() && column != nil || got.IsZero() != (column == nil) {
			t.Errorf("%T: %v, %v", column, got, err)
		}
	}
	if err := new(Subscription).Scan(5); err == nil {
		t.Error("a number was scanned")
	}
	if none, err := (Subscription{}).Value(); none != nil || err != nil {
		t.Errorf("none: %v, %v", none, err)
	}
	row := struct {
		User string
		Push StoredSubscription
	}{"you", StoredSubscription{sub}}
	text, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	row.Push = StoredSubscription{}
	if err := json.Unmarshal(text, &row); err != nil || row.Push.Endpoint() != sub.Endpoint() {
		t.Errorf("%s: %v", text, err)
	}
	if _, err := json.Marshal(struct{ Push Subscription }{sub}); err == nil || !strings.Contains(err.Error(), "StoredSubscription") {
		t.Errorf("a Subscription in a struct: %v", err)
	}
	if text := fmt.Sprintf("%v %+v", row, &row.Push); strings.Contains(text, testAuth) {
		t.Errorf("printed: %s", text)
	}
}
