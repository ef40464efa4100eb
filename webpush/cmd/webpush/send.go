package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"postage/webpush"
)

// keysFile is where the VAPID key pair is kept unless told otherwise.
const keysFile = "vapid.pem"

func (p program) keys(args []string) error {
	f := p.newFlags("keys", `usage: webpush keys [flags]

Makes a VAPID key pair (RFC 8292), keeps it in a file that only its owner can read, and prints the
public key: the applicationServerKey that browsers subscribe with. An existing file is left
unchanged.`)
	file := f.String("keys", keysFile, "`file` of the key pair, PEM")
	if _, err := parse(f, args, 0); err != nil {
		return err
	}
	keys, err := loadKeys(*file)
	if errors.Is(err, fs.ErrNotExist) {
		if keys, err = makeKeys(*file); err == nil {
			p.say("made a key pair and kept it in %s", *file)
		}
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(p.stdout, keys.PublicKey())
	return err
}

func loadKeys(file string) (*webpush.VAPIDKeys, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("VAPID keys: %w", err)
	}
	keys, err := webpush.ParseVAPIDFile(text)
	if err != nil {
		return nil, fmt.Errorf("VAPID keys in %s: %w", file, err)
	}
	return keys, nil
}

func makeKeys(file string) (*webpush.VAPIDKeys, error) {
	keys, err := webpush.GenerateVAPIDKeys()
	if err != nil {
		return nil, err
	}
	text, err := keys.PrivatePEM()
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("VAPID keys: %w", err)
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("VAPID keys: %w", err), os.Remove(file))
	}
	return keys, nil
}

// sending are the flags of all ways to send.
type sending struct {
	keys, subject, urgency, topic string
	ttl                           time.Duration
}

func (s *sending) addClient(f *flag.FlagSet) {
	f.StringVar(&s.keys, "keys", keysFile, "`file` of the VAPID key pair, PEM: webpush keys makes one")
	f.StringVar(&s.subject, "subject", "", "who sends this: mailto: and an `address`, or an https URL (required)")
}

func (s *sending) add(f *flag.FlagSet) {
	s.addClient(f)
	f.DurationVar(&s.ttl, "ttl", webpush.DefaultTTL, "how long the push service keeps it for a browser that is offline")
	f.StringVar(&s.urgency, "urgency", "", "very-low, low, normal or high")
	f.StringVar(&s.topic, "topic", "", "replaces an undelivered message of the same `topic`")
}

func (s *sending) options() webpush.Options {
	options := webpush.Options{TTL: s.ttl, Urgency: webpush.Urgency(s.urgency), Topic: s.topic}
	if s.ttl == 0 {
		options.TTL = webpush.TTLZero
	}
	return options
}

// client makes one with the keys and the subject.
func (p program) client(s sending, cfg webpush.Config) (*webpush.Client, error) {
	if s.subject == "" {
		return nil, hinted{errors.New("-subject is missing"), "push services want to know who sends: mailto: and an address, or an https URL"}
	}
	keys, err := loadKeys(s.keys)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, hinted{err, "`webpush keys` makes a key pair"}
	} else if err != nil {
		return nil, err
	}
	if cfg.Keys, err = webpush.NewKeyRing(keys); err != nil {
		return nil, err
	}
	cfg.Subject, cfg.Transport = s.subject, p.transport
	return webpush.NewClient(cfg)
}

const sendHelp = `usage: webpush send [flags] [MESSAGE]

Sends one message to the subscription in a file or on standard input: the JSON that
PushSubscription.toJSON() gives in the browser. The message is what the service worker gets as text.

  webpush send -subject mailto:you@example.com -subscription sub.json 'Hello!'
  webpush send -subject https://example.com 'Hello!' <sub.json

Exit status: 0 taken by the push service, 2 not, with the reason, 130 interrupted.`

func (p program) send(ctx context.Context, args []string) error {
	f := p.newFlags("send", sendHelp)
	var flags sending
	flags.add(f)
	file := f.String("subscription", "-", "`file` of the subscription, - for standard input")
	timeout := f.Duration("timeout", time.Minute, "how long to try")
	others, err := parse(f, args, 1)
	if err != nil {
		return err
	}
	message := ""
	if len(others) == 1 {
		message = others[0]
	}
	client, err := p.client(flags, webpush.Config{})
	if err != nil {
		return err
	}
	defer client.Close()
	sub, err := p.readSubscription(*file)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, *timeout)
	defer stop()
	receipt, err := client.Send(ctx, sub, []byte(message), flags.options())
	if errors.Is(err, webpush.Gone) {
		return hinted{err, "the browser has unsubscribed: have it subscribe again"}
	} else if err != nil {
		return err
	}
	attempts := "1 attempt"
	if receipt.Attempts > 1 {
		attempts = fmt.Sprintf("%d attempts", receipt.Attempts)
	}
	if _, err := fmt.Fprintf(p.stdout, "taken by %s (HTTP %d, %s)\n", sub.Origin(), receipt.Status, attempts); err != nil {
		return err
	}
	if receipt.MaybeDuplicate {
		p.say("an earlier attempt may have been taken too: the message may be shown twice")
	}
	return nil
}

func (p program) readSubscription(name string) (webpush.Subscription, error) {
	var text []byte
	var err error
	if name == "-" {
		if isTerminal(p.stdin) {
			p.say("reading the subscription from the terminal, end it with Ctrl-D")
		}
		text, err = io.ReadAll(io.LimitReader(p.stdin, 1<<20))
	} else {
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return webpush.Subscription{}, fmt.Errorf("subscription: %w", err)
	}
	sub, err := webpush.ParseSubscription(text)
	if err != nil {
		return webpush.Subscription{}, hinted{fmt.Errorf("subscription %s: %w", name, err), "it is the JSON that PushSubscription.toJSON() gives in the browser"}
	}
	return sub, nil
}
