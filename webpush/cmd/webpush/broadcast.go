package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"postage/webpush"
)

const broadcastHelp = `usage: webpush broadcast [flags] SUBSCRIPTIONS

Sends the message in a file to every subscription in another, or on standard input (-). The list is
lines of JSON as PushSubscription.toJSON() gives it, a JSON array, or CSV with a column of that JSON
or with the columns endpoint, p256dh and auth. A subscription may be the member "subscription" of an
object. A push service that throttles, fails or does not answer does not delay the others.

The outcome of each line goes to a results file as it happens. The endpoints of subscriptions that
have ended are appended to SUBSCRIPTIONS.gone.txt: delete those. -resume continues a broadcast that
was stopped or killed: what was taken is not sent again; what was throttled, deferred or not answered
is. A service that refuses everybody is paused, and its answers are not final, since the mistake may
be yours or its own. After SIGINT or SIGTERM no request starts, and those under way are finished; a
second signal kills. Only requests that were under way at a kill are made twice.

  webpush broadcast -subject mailto:you@example.com -message news.json subs.ndjson
  webpush broadcast -subject mailto:you@example.com -message news.json -resume subs.ndjson
  webpush broadcast -subject mailto:you@example.com -message news.json -rate 500 subs.ndjson

Exit status: 0 every message was taken or its subscription has ended, 1 some were not, 2 wrong
usage, 130 interrupted.`

func (p program) broadcast(ctx context.Context, args []string) error {
	f := p.newFlags("broadcast", broadcastHelp)
	var flags sending
	flags.add(f)
	var limits webpush.Limits
	message := f.String("message", "", "`file` of the message (required)")
	results := f.String("results", "", "`file` of the outcomes (default SUBSCRIPTIONS.results.ndjson)")
	resume := f.Bool("resume", false, "continue with the existing results file")
	f.Float64Var(&limits.Rate, "rate", 0, "at most so many requests a second to each push service, 0 for as many as it takes")
	f.IntVar(&limits.Concurrency, "concurrency", 0, "at most so many requests under way to each push service (default 64)")
	f.DurationVar(&limits.Patience, "patience", 5*time.Minute, "how long to wait for a push service that takes nothing, whatever it asks for")
	f.IntVar(&limits.Gone, "gone-limit", 0, "pause a push service that calls so many subscriptions in a row gone, and believe none of it; -1 believes all (default 20)")
	others, err := parse(f, args, 1)
	switch {
	case err != nil:
		return err
	case len(others) == 0:
		return hinted{errors.New("no file of subscriptions"), "webpush broadcast -subject ADDRESS -message FILE SUBSCRIPTIONS"}
	case *message == "":
		return hinted{errors.New("-message is missing"), "it is the file of the message"}
	}
	text, err := os.ReadFile(*message)
	if err != nil {
		return fmt.Errorf("message: %w", err)
	}
	limits.Backlog = 250_000
	cfg, options := webpush.Config{Limits: limits}, flags.options()
	cfg.OnSuspect = func(_ context.Context, err *webpush.SendError) {
		p.say("%s", strings.TrimPrefix(err.Error(), "webpush: "))
	}
	if err := options.Check(); err != nil {
		return err
	}
	client, err := p.client(flags, cfg)
	if err != nil {
		return err
	}
	defer client.Close()
	return p.broadcastTo(ctx, others[0], client, text, options, *results, *resume)
}

// broadcastTo sends to the subscriptions in a file that the results do not have yet.
func (p program) broadcastTo(ctx context.Context, file string, client *webpush.Client, message []byte, options webpush.Options, results string, resume bool) error {
	source := &subscriptionList{name: file, warn: p.say}
	if file == "-" {
		file = "stdin"
		source.in = p.stdin
	} else if f, err := os.Open(file); err != nil {
		return fmt.Errorf("subscriptions: %w", err)
	} else {
		source.in = f
		defer f.Close()
	}
	results = cmp.Or(results, file+".results.ndjson")
	if _, err := os.Stat(results); err == nil && !resume {
		return hinted{fmt.Errorf("%s exists already", results), "-resume continues it; -results FILE begins another"}
	}
	journal, err := webpush.OpenJournal(results, fmt.Sprintf("%s, message %x", filepath.Base(file), sha256.Sum256(message)))
	if err != nil {
		return hinted{err, "-results FILE begins another"}
	}
	defer journal.Close()

	progress := newProgress(p.stderr, journal.Kept())
	rest := client.BroadcastIndexed(ctx, journal.Rest(source.all(ctx)), message, options)
	if err := p.collect(ctx, rest, journal, progress, file+".gone.txt"); err != nil {
		return err
	}
	if err := errors.Join(source.err, journal.Sync()); err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "%s\nresults: %s\n", progress.counts(), results)
	if repeated := source.records - progress.earlier - progress.done; repeated > 0 && ctx.Err() == nil {
		fmt.Fprintf(p.stdout, "%d lines repeat another\n", repeated)
	}
	switch {
	case ctx.Err() != nil:
		return errors.New("stopped; -resume continues")
	case progress.open > 0:
		p.say("-resume sends again the %d that were not taken and still may be", progress.open)
		return errSome
	case progress.failed() > 0:
		return errSome
	}
	return nil
}

// collect records the results as they come.
func (p program) collect(ctx context.Context, results iter.Seq2[webpush.Subscription, webpush.Result], journal *webpush.Journal, progress *progress, goneFile string) error {
	defer progress.erase()
	defer context.AfterFunc(ctx, func() { p.say("stopping: requests under way are finished; a second signal kills") })()
	for sub, result := range results {
		if result.Outcome() == webpush.Gone { // before the journal, so that a kill does not lose it
			if err := appendLine(goneFile, sub.Endpoint()); err != nil {
				return err
			}
		}
		if err := journal.Record(sub, result); err != nil {
			return err
		}
		progress.add(result)
	}
	return nil
}

func appendLine(name, line string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, line)
	return errors.Join(err, f.Close())
}
