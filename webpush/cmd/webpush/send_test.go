package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postage/webpush/pushtest"
)

// command runs the command with the push service's transport, and returns what it printed and its
// exit code.
func command(t *testing.T, service *pushtest.Server, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	transport := service.Transport()
	defer transport.CloseIdleConnections()
	var out, errs bytes.Buffer
	p := program{stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs, transport: transport}
	code = p.run(t.Context(), args)
	return out.String(), errs.String(), code
}

func TestSend(t *testing.T) {
	service := pushtest.NewServer()
	defer service.Close()
	folder := t.TempDir()
	keys := filepath.Join(folder, "vapid.pem")
	public, said, code := command(t, service, "", "keys", "--keys", keys)
	if code != 0 || said != "webpush: made a key pair and kept it in "+keys+"\n" {
		t.Fatalf("%d: %s", code, said)
	}
	if again, said, code := command(t, service, "", "keys", "-keys", keys); code != 0 || again != public || said != "" {
		t.Errorf("keys again: %q and %q, %d, %s", again, public, code, said)
	}
	if info, err := os.Stat(keys); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file: %v, %v", info.Mode(), err)
	}
	browser := service.Subscribe(strings.TrimSpace(public))
	send := []string{"send", "--keys", keys, "--subject", "mailto:you@example.com"}

	out, said, code := command(t, service, string(browser.JSON()), append(send, "Hello!", "-urgency", "high", "--topic", "greeting")...)
	if code != 0 || out != "taken by "+service.URL+" (HTTP 201, 1 attempt)\n" || said != "" {
		t.Errorf("from standard input: %q, %d, %s", out, code, said)
	}
	file := filepath.Join(folder, "sub.json")
	if err := os.WriteFile(file, browser.JSON(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, said, code := command(t, service, "", append(send, "--subscription", file, "--", "-1 body")...); code != 0 {
		t.Errorf("%d: %s", code, said)
	}
	messages := browser.Messages()
	if len(messages) != 2 || string(messages[0].Data) != "Hello!" || messages[0].Urgency != "high" || messages[0].Topic != "greeting" ||
		string(messages[1].Data) != "-1 body" {
		t.Errorf("the browser got %+v", messages)
	}

	for what, r := range map[string]struct {
		stdin string
		args  []string
		want  string
	}{
		"no subject":            {"", []string{"send", "--keys", keys}, "webpush: -subject is missing\nhint: "},
		"no keys":               {"", []string{"send", "--keys", file + ".none", "--subject", "mailto:you@example.com"}, "no such file"},
		"keys of no kind":       {"", []string{"send", "--keys", file, "--subject", "mailto:you@example.com"}, "VAPID keys in"},
		"no command":            {"", nil, "no command"},
		"no such command":       {"", []string{"sned"}, `unknown command "sned"`},
		"no such flag":          {"", append(send, "-burgency", "high"), "-burgency\nhint: `webpush send -h` shows the flags"},
		"two messages":          {"", append(send, "Hello", "you"), "too many arguments: you"},
		"no subscription":       {"{}", send, "subscription -:"},
		"an urgency of its own": {string(browser.JSON()), append(send, "--urgency", "soon"), "rgency"},
	} {
		if out, said, code := command(t, service, r.stdin, r.args...); code != 2 || out != "" || !strings.Contains(said, r.want) {
			t.Errorf("%s: %d, %q, %s, want %q", what, code, out, said, r.want)
		}
	}
	browser.Unsubscribe()
	if _, said, code := command(t, service, string(browser.JSON()), append(send, "Hello?")...); code != 2 || !strings.Contains(said, "410 Gone") || !strings.Contains(said, "\nhint: the browser has unsubscribed") {
		t.Errorf("to a browser that has unsubscribed: %d, %s", code, said)
	}
}

// Help goes to standard output and names every flag.
func TestHelp(t *testing.T) {
	for command, want := range map[string]string{"": "webpush broadcast FILE", "keys": "-keys file", "send": "-subscription file", "broadcast": "-resume"} {
		var out, errs bytes.Buffer
		args := strings.Fields(command + " -h")
		code := program{stdout: &out, stderr: &errs}.run(t.Context(), args)
		if code != 0 || errs.Len() > 0 || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %d, %s%s", args, code, &out, &errs)
		}
	}
}
