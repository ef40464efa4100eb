package cli

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"postage/lab"
	"postage/webpush"
)

// broadcastFlags are the flags of `postage push broadcast`.
type broadcastFlags struct {
	pushFlags
	message, results, padding, reuse string
	rate                             float64
	concurrency                      int
	patience                         time.Duration
	resume                           bool
}

func pushBroadcastCommand(transport http.RoundTripper) *cobra.Command {
	var flags broadcastFlags
	cmd := &cobra.Command{
		Use:   "broadcast SUBSCRIPTIONS.ndjson",
		Short: "Send one message to all subscriptions in a file",
		Long: `Sends the message in a file to every subscription in another: one a line, the JSON that
PushSubscription.toJSON() gives. Each push service gets as much as it takes; one that throttles,
fails or does not answer does not delay the others.

The outcome of each line goes to a results file, as it happens. A broadcast that was stopped or
killed continues with --resume: what was taken is not sent again; what was throttled, deferred
or not answered is. Only requests under way when it was killed are made twice.

Exit status: 0 every message was taken or its subscription has ended, 1 some were not, 2 wrong
usage, 130 interrupted.`,
		Example: `  postage push broadcast subs.ndjson --subject mailto:you@example.com --message news.json
  postage push broadcast subs.ndjson --subject mailto:you@example.com --message news.json --resume
  postage push broadcast subs.ndjson --subject mailto:you@example.com --message news.json --rate 500`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return pushBroadcast(cmd, args[0], flags, transport)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.keys, "keys", keysFile, "`file` of the VAPID key pair, PEM: `postage push keys` makes one")
	f.StringVar(&flags.subject, "subject", "", "who sends this: mailto: and an address, or an https URL (required)")
	f.StringVar(&flags.message, "message", "", "`file` of the message (required)")
	f.StringVar(&flags.results, "results", "", "`file` of the outcomes (default SUBSCRIPTIONS.results.ndjson)")
	f.BoolVar(&flags.resume, "resume", false, "continue with the existing results file")
	f.Float64Var(&flags.rate, "rate", 0, "at most so many requests a second to each push service, 0 for as many as it takes")
	f.IntVar(&flags.concurrency, "concurrency", 0, "at most so many requests under way to each push service (default 64)")
	f.DurationVar(&flags.patience, "patience", 5*time.Minute, "how long to wait for a push service that takes nothing")
	f.DurationVar(&flags.ttl, "ttl", webpush.DefaultTTL, "how long the push service keeps it for a browser that is offline")
	f.StringVar(&flags.urgency, "urgency", "", "very-low, low, normal or high")
	f.StringVar(&flags.topic, "topic", "", "replaces an undelivered message of the same topic")
	f.StringVar(&flags.padding, "padding", "none", "none, or fit: hide the length, in as much as every service takes")
	f.StringVar(&flags.reuse, "reuse", "strict", "strict, or broadcast: one key pair for all, faster (docs/webpush.md)")
	_ = cmd.MarkFlagRequired("subject")
	_ = cmd.MarkFlagRequired("message")
	return cmd
}

func pushBroadcast(cmd *cobra.Command, file string, flags broadcastFlags, transport http.RoundTripper) error {
	message, err := os.ReadFile(flags.message)
	if err != nil {
		return fmt.Errorf("message: %w", err)
	}
	client, options, err := broadcastClient(flags, transport)
	if err != nil {
		return err
	}
	defer client.Close()
	lines, err := countLines(file)
	if err != nil {
		return err
	}
	if flags.results == "" {
		flags.results = file + ".results.ndjson"
	}
	if _, err := os.Stat(flags.results); err == nil && !flags.resume {
		return hinted(fmt.Errorf("%s exists already", flags.results), "--resume continues it; --results FILE begins another")
	}
	journal, err := webpush.OpenJournal(flags.results, fmt.Sprintf("%s, message %x", filepath.Base(file), sha256.Sum256(message)))
	if err != nil {
		return hinted(err, "--results FILE begins another")
	}
	defer journal.Close()

	source := &subscriptionLines{file: file, warn: func(format string, a ...any) { say(cmd, format, a...) }}
	progress := newBroadcastProgress(cmd.ErrOrStderr(), lines, journal.Kept())
	for sub, result := range client.BroadcastIndexed(cmd.Context(), journal.Rest(source.all(cmd.Context())), message, options) {
		if err := journal.Record(sub, result); err != nil {
			return err
		}
		progress.add(sub.Origin(), result)
	}
	progress.close()
	if err := errors.Join(source.err, journal.Sync()); err != nil {
		return err
	}
	progress.summary(cmd.OutOrStdout(), flags.results)
	switch {
	case cmd.Context().Err() != nil:
		say(cmd, "postage: stopped; --resume continues")
		return lab.ErrInterrupted
	case progress.open > 0:
		say(cmd, "postage: --resume sends again the %d that were not taken and still may be", progress.open)
		return exitStatus(exitFailedRow)
	case progress.failed() > 0:
		return exitStatus(exitFailedRow)
	}
	return nil
}

func broadcastClient(flags broadcastFlags, transport http.RoundTripper) (*webpush.Client, webpush.Options, error) {
	options := webpush.Options{TTL: flags.ttl, Urgency: webpush.Urgency(flags.urgency), Topic: flags.topic}
	if flags.ttl == 0 {
		options.TTL = webpush.TTLZero
	}
	switch flags.padding {
	case "none":
	case "fit":
		options.Padding = webpush.PadToFit()
	default:
		return nil, options, fmt.Errorf("--padding %s: want none or fit", flags.padding)
	}
	cfg := webpush.Config{
		Subject: flags.subject, Transport: transport, Limits: webpush.Limits{Rate: flags.rate, Concurrency: flags.concurrency, Patience: flags.patience, Backlog: 250_000},
	}
	switch flags.reuse {
	case "strict":
	case "broadcast":
		cfg.Reuse = webpush.KeyPerBroadcast()
	default:
		return nil, options, fmt.Errorf("--reuse %s: want strict or broadcast", flags.reuse)
	}
	keys, err := loadKeys(flags.keys)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, options, hinted(err, "`postage push keys` makes a key pair")
	} else if err != nil {
		return nil, options, err
	}
	if cfg.Keys, err = webpush.NewKeyRing(keys); err != nil {
		return nil, options, err
	}
	client, err := webpush.NewClient(cfg)
	return client, options, err
}

// subscriptionLines reads a file of subscriptions, one a line.
type subscriptionLines struct {
	file string
	warn func(format string, a ...any)
	bad  int
	err  error // why reading ended early
}

// shownBadLines is how many lines that hold no subscription are named.
const shownBadLines = 10

// all gives the subscription of each line; of one that holds none, the zero value,
// so that a line's number is its place.
func (s *subscriptionLines) all(ctx context.Context) iter.Seq[webpush.Subscription] {
	return func(yield func(webpush.Subscription) bool) {
		f, err := os.Open(s.file)
		if err != nil {
			s.err = fmt.Errorf("subscriptions: %w", err)
			return
		}
		defer f.Close()
		lines := subscriptionScanner(f)
		for n := 1; ctx.Err() == nil && lines.Scan(); n++ {
			sub, err := webpush.ParseSubscription(lines.Bytes())
			if err != nil {
				if s.bad++; s.bad <= shownBadLines {
					s.warn("postage: %s, line %d: %v", s.file, n, err)
				}
			}
			if !yield(sub) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			s.err = fmt.Errorf("subscriptions: %s: %w", s.file, err)
		}
	}
}

func subscriptionScanner(f *os.File) *bufio.Scanner {
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 1<<16), 1<<20)
	return lines
}

func countLines(file string) (n int, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, fmt.Errorf("subscriptions: %w", err)
	}
	defer f.Close()
	lines := subscriptionScanner(f)
	for lines.Scan() {
		n++
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("subscriptions: %s: %w", file, err)
	}
	return n, nil
}
