package webpush

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"strconv"
)

// A Journal is a file of a broadcast's outcomes. With it a broadcast that was killed
// continues where it stopped:
//
//	journal, err := webpush.OpenJournal("results.ndjson", "message 17")
//	for sub, result := range client.BroadcastIndexed(ctx, journal.Rest(subs), msg, opts) {
//		err := journal.Record(sub, result)
//	}
//
// It knows subscriptions by their [Subscription.Fingerprint], so the list may change in between. A
// process that is killed loses the outcomes of the requests under way: these requests are made
// again, and every other message is sent once. If the machine crashes, the last records may be lost
// too, unless Sync was called.
//
// The file holds a line of JSON for each outcome; the first line names the broadcast. While it is
// open no other process can open it; where the standard library has no lock (AIX, Plan 9, Solaris),
// OpenJournal fails. A Journal is for one goroutine, and takes some 20 bytes of memory for each
// subscription.
type Journal struct {
	file      *os.File
	line      []byte
	sizeBytes int64           // of whole lines
	failed    error           // why nothing is written any more
	done      map[uint64]bool // by fingerprint: given out, and whether with a final outcome
	kept      map[Outcome]int64
}

// journalHead is the first line.
type journalHead struct {
	Journal   string `json:"journal"`
	Broadcast string `json:"broadcast"`
}

const journalKind = "webpush 2"

// journalLine is an outcome.
type journalLine struct {
	Fingerprint string `json:"fingerprint,omitempty"`
	Index       int64  `json:"index"`
	Outcome     string `json:"outcome"`
	Status      int    `json:"status,omitempty"`
	Attempts    int    `json:"attempts,omitempty"`
	MaybeSent   bool   `json:"maybe_sent,omitempty"`
	Origin      string `json:"origin,omitempty"`
	RetryAfter  int64  `json:"retry_after_seconds,omitempty"`
	Reason      string `json:"reason,omitempty"`
}

// OpenJournal opens the journal of a broadcast, or begins one. The text names the
// broadcast: the journal of another is refused, and so is one that is in use. A last
// line that was cut off is removed.
func OpenJournal(name, broadcast string) (*Journal, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("webpush: journal: %w", err)
	}
	j := &Journal{file: file, done: make(map[uint64]bool), kept: make(map[Outcome]int64)}
	if err = lock(file); err == nil {
		err = j.read(broadcast)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("webpush: journal %s: %w", name, err), file.Close())
	}
	return j, nil
}

func (j *Journal) read(broadcast string) error {
	head, err := json.Marshal(journalHead{journalKind, broadcast})
	if err != nil {
		return err
	}
	r := bufio.NewReaderSize(j.file, 1<<16)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if err == io.EOF { // what is left is half a line, or nothing
			if n == 1 && !bytes.HasPrefix(head, line) {
				return fmt.Errorf("not the journal of this broadcast, which is %s", head)
			}
			break
		} else if err != nil {
			return err
		}
		if n > 1 {
			err = j.take(line)
		} else if !bytes.Equal(bytes.TrimSpace(line), head) {
			err = fmt.Errorf("not the journal of this broadcast, which is %s", head)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		j.sizeBytes += int64(len(line))
	}
	if err := j.file.Truncate(j.sizeBytes); err != nil || j.sizeBytes > 0 {
		return err
	}
	return j.write(journalHead{journalKind, broadcast})
}

func (j *Journal) take(line []byte) error {
	var l journalLine
	if err := json.Unmarshal(line, &l); err != nil {
		return errors.New("not an outcome")
	}
	for o, name := range outcomeNames {
		if name == l.Outcome {
			j.keep(l.Fingerprint, Outcome(o), l.MaybeSent)
			return nil
		}
	}
	return fmt.Errorf("unknown outcome %q", l.Outcome)
}

// keep remembers a final outcome.
func (j *Journal) keep(fingerprint string, o Outcome, maybeSent bool) {
	id, err := strconv.ParseUint(fingerprint, 16, 64)
	if err != nil || j.done[id] || !isFinal(o, maybeSent) { // an error: no subscription
		return
	}
	j.done[id] = true
	j.kept[o]++
}

// Final reports whether the message must not be sent again: it was accepted, may have been, or
// never will be. Otherwise it was certainly not accepted, or the caller did not wait for the answer.
func (r Result) Final() bool {
	e, ok := asType[*SendError](r.Err)
	return isFinal(r.Outcome(), ok && e.MaybeSent)
}

func isFinal(o Outcome, maybeSent bool) bool {
	switch o {
	case Suspect, Canceled: // sending it twice is better than never
		return false
	case RateLimited, Unavailable, Unreachable, Deferred, Failed:
		return maybeSent
	}
	return true
}

// Rest gives the subscriptions without a final outcome ([Result.Final]), each once however often it
// is listed, with their places in the sequence, from 0.
func (j *Journal) Rest(subs iter.Seq[Subscription]) iter.Seq2[int64, Subscription] {
	return func(yield func(int64, Subscription) bool) {
		maps.DeleteFunc(j.done, func(_ uint64, final bool) bool { return !final })
		i := int64(-1)
		for sub := range subs {
			i++
			if !sub.IsZero() {
				id := sub.id()
				if _, has := j.done[id]; has {
					continue
				}
				j.done[id] = false
			}
			if !yield(i, sub) {
				return
			}
		}
	}
}

// Kept counts the final outcomes.
func (j *Journal) Kept() map[Outcome]int64 { return j.kept }

// Record writes the outcome of a subscription. After an error the file holds what was recorded
// before.
func (j *Journal) Record(sub Subscription, r Result) error {
	l := journalLine{Fingerprint: sub.Fingerprint(), Index: r.Index, Outcome: r.Outcome().String(), Origin: sub.Origin()}
	if e, ok := asType[*SendError](r.Err); ok {
		l.Status, l.Attempts, l.MaybeSent, l.Reason = e.Status, e.Attempts, e.MaybeSent, cmp.Or(e.Reason, e.cause())
		l.RetryAfter = int64(e.RetryAfter.Seconds())
	} else {
		l.Status, l.Attempts, l.MaybeSent = r.Receipt.Status, r.Receipt.Attempts, r.Receipt.MaybeDuplicate
	}
	if err := j.write(l); err != nil {
		return err
	}
	j.keep(l.Fingerprint, r.Outcome(), l.MaybeSent)
	return nil
}

// write appends a line, whole or not at all.
func (j *Journal) write(line any) error {
	b := bytes.NewBuffer(j.line[:0])
	err := j.failed
	if err == nil {
		err = json.NewEncoder(b).Encode(line)
	}
	if err == nil {
		if _, err = j.file.WriteAt(b.Bytes(), j.sizeBytes); err != nil { // in one write, so that a kill leaves whole lines
			j.failed = j.file.Truncate(j.sizeBytes) // not half a line for the next to be glued to
		}
	}
	if err != nil {
		return fmt.Errorf("webpush: journal: %w", err)
	}
	j.line = b.Bytes()
	j.sizeBytes += int64(len(j.line))
	return nil
}

// Sync has the operating system write everything to the disk.
func (j *Journal) Sync() error { return j.file.Sync() }

// Close ends the journal.
func (j *Journal) Close() error { return j.file.Close() }
