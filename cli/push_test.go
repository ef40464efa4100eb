package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postage/webpush/pushtest"
)

// push runs `postage push` with the push service's transport.
func push(t *testing.T, service *pushtest.Server, stdin string, args ...string) (stdout string, err error) {
	t.Helper()
	root := postage.newRoot()
	for _, c := range root.Commands() {
		if c.Name() == "push" {
			for _, sub := range c.Commands() {
				if sub.Name() == "send" || sub.Name() == "broadcast" {
					c.RemoveCommand(sub)
				}
			}
			transport := service.Transport()
			t.Cleanup(transport.CloseIdleConnections)
			c.AddCommand(pushSendCommand(transport), pushBroadcastCommand(transport))
		}
	}
	var out, errs bytes.Buffer
	root.SetArgs(append([]string{"push"}, args...))
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&errs)
	err = root.ExecuteContext(context.Background())
	return out.String(), err
}

func TestPush(t *testing.T) {
	service := pushtest.NewServer()
	defer service.Close()
	folder := t.TempDir()
	keys := filepath.Join(folder, "vapid.pem")
	public, err := push(t, service, "", "keys", "--keys", keys)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := push(t, service, "", "keys", "--keys", keys); err != nil || again != public {
		t.Errorf("keys again: %q and %q, %v", again, public, err)
	}
	if info, err := os.Stat(keys); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file: %v, %v", info.Mode(), err)
	}
	browser := service.Subscribe(strings.TrimSpace(public))
	send := []string{"send", "--keys", keys, "--subject", "mailto:you@example.com"}

	out, err := push(t, service, string(browser.JSON()), append(send, "Hello!", "--urgency", "high", "--topic", "greeting")...)
	if err != nil || !strings.Contains(out, "taken by https://127.0.0.1:") {
		t.Errorf("from standard input: %q, %v", out, err)
	}
	file := filepath.Join(folder, "sub.json")
	if err := os.WriteFile(file, browser.JSON(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := push(t, service, "", append(send, "--subscription", file, "--title", "Hello", "--navigate", "https://example.com/", "body")...); err != nil {
		t.Error(err)
	}
	messages := browser.Messages()
	if len(messages) != 2 || string(messages[0].Data) != "Hello!" || messages[0].Urgency != "high" || messages[0].Topic != "greeting" ||
		!strings.Contains(string(messages[1].Data), `"title":"Hello"`) {
		t.Errorf("the browser got %+v", messages)
	}

	for what, r := range map[string]struct {
		stdin string
		args  []string
		want  string
	}{
		"no subject":            {"", []string{"send", "--keys", keys}, `"subject" not set`},
		"no keys":               {"", []string{"send", "--keys", file + ".none", "--subject", "mailto:you@example.com"}, "no such file"},
		"keys of no kind":       {"", []string{"send", "--keys", file, "--subject", "mailto:you@example.com"}, "VAPID keys in"},
		"no subscription":       {"{}", send, "subscription -:"},
		"an urgency of its own": {string(browser.JSON()), append(send, "--urgency", "soon"), "rgency"},
		"half a notification":   {string(browser.JSON()), append(send, "--title", "Hello"), "avigate"},
	} {
		if _, err := push(t, service, r.stdin, r.args...); err == nil || !strings.Contains(err.Error(), r.want) {
			t.Errorf("%s: %v, want %q", what, err, r.want)
		}
	}
	browser.Unsubscribe()
	if _, err := push(t, service, string(browser.JSON()), append(send, "Hello?")...); err == nil || !strings.Contains(err.Error(), "410 Gone") {
		t.Errorf("to a browser that has unsubscribed: %v", err)
	}
}
