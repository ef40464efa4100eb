package webpush

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
)

// A Journal is a file of a broadcast's outcomes. With it a broadcast that was killed
// continues where it stopped:
//
//	journal, err := webpush.OpenJournal("results.ndjson", "message 17")
//	for _, result := range client.BroadcastIndexed(ctx, journal.Rest(subs), msg, opts) {
//		err := journal.Record(result)
//	}
//
// The sequence must be the same each time, in the same order. A process that is
// killed loses the outcomes of the requests under way, and only those: these requests
// are made again, and every other message is sent once. Each record is written to the
// operating system at once; if the machine crashes, the last ones may be lost too (call
// Sync if that matters).
//
// The file holds a line of JSON for each outcome; the first line names the broadcast. A
// Journal is for one goroutine.
type Journal struct {
	file *os.File
	line []byte
	done cursor
	kept map[Outcome]int64
}

// journalHead is the first line.
type journalHead struct {
	Journal   string `json:"journal"` // "webpush 1"
	Broadcast string `json:"broadcast"`
}

const journalKind = "webpush 1"

// journalLine is an outcome.
type journalLine struct {
	Index       int64  `json:"index"`
	Outcome     string `json:"outcome"`
	Status      int    `json:"status,omitempty"`
	Attempts    int    `json:"attempts,omitempty"`
	MaybeSent   bool   `json:"maybe_sent,omitempty"`
	Origin      string `json:"origin,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	RetryAfter  int64  `json:"retry_after_seconds,omitempty"`
	Reason      string `json:"reason,omitempty"`
}

// OpenJournal opens the journal of a broadcast, or begins one. The text names the
// broadcast: the journal of another is refused. A last line that was cut off is
// removed.
func OpenJournal(name, broadcast string) (*Journal, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("webpush: journal: %w", err)
	}
	j := &Journal{file: file, kept: make(map[Outcome]int64)}
	if err := j.read(broadcast); err != nil {
		return nil, errors.Join(fmt.Errorf("webpush: journal %s: %w", name, err), file.Close())
	}
	return j, nil
}

func (j *Journal) read(broadcast string) error {
	r := bufio.NewReaderSize(j.file, 1<<16)
	whole := int64(0)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if err == io.EOF { // what is left is half a line, or nothing
			break
		} else if err != nil {
			return err
		}
		if n == 1 {
			err = checkHead(line, broadcast)
		} else {
			err = j.take(line)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		whole += int64(len(line))
	}
	if err := j.file.Truncate(whole); err != nil {
		return err
	}
	if _, err := j.file.Seek(whole, io.SeekStart); err != nil {
		return err
	}
	if whole > 0 {
		return nil
	}
	return j.write(journalHead{journalKind, broadcast})
}

func checkHead(line []byte, broadcast string) error {
	var head journalHead
	if err := json.Unmarshal(line, &head); err != nil || head.Journal != journalKind {
		return errors.New("not a journal")
	}
	if head.Broadcast != broadcast {
		return fmt.Errorf("of another broadcast: %q, not %q", head.Broadcast, broadcast)
	}
	return nil
}

func (j *Journal) take(line []byte) error {
	var l journalLine
	if err := json.Unmarshal(line, &l); err != nil || l.Index < 0 {
		return errors.New("not an outcome")
	}
	for o, name := range outcomeNames {
		if name == l.Outcome {
			if isFinal(Outcome(o), l.MaybeSent) && !j.done.has(l.Index) {
				j.done.mark(l.Index)
				j.kept[Outcome(o)]++
			}
			return nil
		}
	}
	return fmt.Errorf("unknown outcome %q", l.Outcome)
}

// Final reports whether the message must not be sent again: it was accepted, may have been, or
// never will be. Otherwise it was certainly not accepted, and may be sent later.
func (r Result) Final() bool {
	e, ok := errors.AsType[*SendError](r.Err)
	return isFinal(r.Outcome(), ok && e.MaybeSent)
}

func isFinal(o Outcome, maybeSent bool) bool {
	switch o {
	case RateLimited, Unavailable, Unreachable, Canceled, Deferred:
		return maybeSent
	}
	return true
}

// Rest gives the subscriptions without a final outcome, with their places in the
// sequence. Among them are those whose messages were throttled, deferred, canceled or
// not answered, and certainly not accepted.
func (j *Journal) Rest(subs iter.Seq[Subscription]) iter.Seq2[int64, Subscription] {
	return func(yield func(int64, Subscription) bool) {
		i := int64(-1)
		for sub := range subs {
			if i++; j.done.has(i) {
				continue
			}
			if !yield(i, sub) {
				return
			}
		}
	}
}

// Kept counts the final outcomes.
func (j *Journal) Kept() map[Outcome]int64 { return j.kept }

// Record writes an outcome.
func (j *Journal) Record(r Result) error {
	l := journalLine{Index: r.Index, Outcome: r.Outcome().String()}
	if e, ok := errors.AsType[*SendError](r.Err); ok {
		l.Status, l.Attempts, l.MaybeSent, l.Reason = e.Status, e.Attempts, e.MaybeSent, e.Reason
		l.Origin, l.Fingerprint, l.RetryAfter = e.Origin, e.Fingerprint, int64(e.RetryAfter.Seconds())
	} else {
		l.Status, l.Attempts, l.MaybeSent = r.Receipt.Status, r.Receipt.Attempts, r.Receipt.MaybeDuplicate
	}
	if r.Final() && !j.done.has(r.Index) {
		j.done.mark(r.Index)
		j.kept[r.Outcome()]++
	}
	return j.write(l)
}

func (j *Journal) write(line any) error {
	b := bytes.NewBuffer(j.line[:0])
	if err := json.NewEncoder(b).Encode(line); err != nil {
		return fmt.Errorf("webpush: journal: %w", err)
	}
	j.line = b.Bytes()
	if _, err := j.file.Write(j.line); err != nil { // in one write, so that a kill leaves whole lines
		return fmt.Errorf("webpush: journal: %w", err)
	}
	return nil
}

// Sync has the operating system write everything to the disk.
func (j *Journal) Sync() error { return j.file.Sync() }

// Close ends the journal.
func (j *Journal) Close() error { return j.file.Close() }
