package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"postage/internal/words"
	"postage/webpush"
)

// keysFile is where the VAPID key pair is kept unless told otherwise.
const keysFile = "vapid.pem"

func pushCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "push",
		Short: "Send Web Push notifications, to yourself or to a million",
		Long: `Makes VAPID keys and sends Web Push notifications, with package webpush.

To send yourself one: make keys, have a browser subscribe with the public key (the page in
webpush/example does that and shows the subscription), and send.`,
		Example: `  postage push keys
  postage push send --subject mailto:you@example.com --subscription sub.json 'Hello!'
  postage push broadcast subs.ndjson --subject mailto:you@example.com --message news.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(pushKeysCommand(), pushSendCommand(nil), pushBroadcastCommand(nil))
	return cmd
}

func pushKeysCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Make a VAPID key pair, or show the public key of an existing one",
		Long: `Makes a VAPID key pair (RFC 8292), keeps it in a file that only its owner can read, and
prints the public key: the applicationServerKey that browsers subscribe with. An existing
file is left unchanged.`,
		Example: `  postage push keys
  postage push keys --keys production.pem`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			keys, err := loadKeys(file)
			if errors.Is(err, fs.ErrNotExist) {
				if keys, err = makeKeys(file); err == nil {
					say(cmd, "postage: made a key pair and kept it in %s", file)
				}
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), keys.PublicKey())
			return err
		},
	}
	cmd.Flags().StringVar(&file, "keys", keysFile, "`file` of the key pair, PEM")
	return cmd
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

// pushFlags are the flags of `postage push send`.
type pushFlags struct {
	keys, subscription, subject string
	urgency, topic, title, url  string
	ttl, timeout                time.Duration
}

func pushSendCommand(transport http.RoundTripper) *cobra.Command {
	var flags pushFlags
	cmd := &cobra.Command{
		Use:   "send [MESSAGE]",
		Short: "Encrypt, sign and send one message",
		Long: `Sends one message to the subscription in a file or on standard input: the JSON that
PushSubscription.toJSON() gives in the browser. The message is what the service worker
gets as text; with --title and --navigate it is a declarative notification, which
browsers that know it show by themselves.

Exit status: 0 taken by the push service, 2 not, with the reason.`,
		Example: `  postage push send --subject mailto:you@example.com --subscription sub.json 'Hello!'
  postage push send --subject https://example.com --title Hello --navigate https://example.com/ <sub.json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			message := ""
			if len(args) == 1 {
				message = args[0]
			}
			return pushSend(cmd, message, flags, transport)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.keys, "keys", keysFile, "`file` of the VAPID key pair, PEM: `postage push keys` makes one")
	f.StringVar(&flags.subscription, "subscription", "-", "`file` of the subscription, - for standard input")
	f.StringVar(&flags.subject, "subject", "", "who sends this: mailto: and an address, or an https URL (required)")
	f.DurationVar(&flags.ttl, "ttl", webpush.DefaultTTL, "how long the push service keeps it for a browser that is offline")
	f.StringVar(&flags.urgency, "urgency", "", "very-low, low, normal or high")
	f.StringVar(&flags.topic, "topic", "", "replaces an undelivered message of the same topic")
	f.StringVar(&flags.title, "title", "", "title of a declarative notification, of which MESSAGE is the body")
	f.StringVar(&flags.url, "navigate", "", "URL that a click on it opens")
	f.DurationVar(&flags.timeout, "timeout", time.Minute, "how long to try")
	_ = cmd.MarkFlagRequired("subject")
	return cmd
}

func pushSend(cmd *cobra.Command, message string, flags pushFlags, transport http.RoundTripper) error {
	keys, err := loadKeys(flags.keys)
	if errors.Is(err, fs.ErrNotExist) {
		return hinted(err, "`postage push keys` makes a key pair")
	} else if err != nil {
		return err
	}
	sub, err := readSubscription(cmd, flags.subscription)
	if err != nil {
		return err
	}
	payload := []byte(message)
	options := webpush.Options{TTL: flags.ttl, Urgency: webpush.Urgency(flags.urgency), Topic: flags.topic}
	if flags.ttl == 0 {
		options.TTL = webpush.TTLZero
	}
	if flags.title != "" || flags.url != "" {
		n := webpush.Notification{Title: flags.title, Navigate: flags.url, Body: message}
		if payload, err = n.Message(); err != nil {
			return err
		}
		options.ContentType = n.ContentType()
	}
	ring, err := webpush.NewKeyRing(keys)
	if err != nil {
		return err
	}
	client, err := webpush.NewClient(webpush.Config{Keys: ring, Subject: flags.subject, Transport: transport})
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, stop := context.WithTimeout(cmd.Context(), flags.timeout)
	defer stop()
	receipt, err := client.Send(ctx, sub, payload, options)
	if errors.Is(err, webpush.Gone) {
		return hinted(err, "the browser has unsubscribed: have it subscribe again")
	} else if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "taken by %s (HTTP %d, %s)\n", sub.Origin(), receipt.Status, words.Counted(receipt.Attempts, "attempt"))
	if receipt.MaybeDuplicate {
		say(cmd, "postage: an earlier attempt may have been taken too: the message may be shown twice")
	}
	return nil
}

func readSubscription(cmd *cobra.Command, name string) (webpush.Subscription, error) {
	var text []byte
	var err error
	if name == "-" {
		if isTerminal(cmd.InOrStdin()) {
			say(cmd, "postage: reading the subscription from the terminal, end it with Ctrl-D")
		}
		text, err = io.ReadAll(io.LimitReader(cmd.InOrStdin(), 1<<20))
	} else {
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return webpush.Subscription{}, fmt.Errorf("subscription: %w", err)
	}
	sub, err := webpush.ParseSubscription(text)
	if err != nil {
		return webpush.Subscription{}, hinted(fmt.Errorf("subscription %s: %w", name, err), "it is the JSON that PushSubscription.toJSON() gives in the browser")
	}
	return sub, nil
}
