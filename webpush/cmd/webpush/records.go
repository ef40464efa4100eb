package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"postage/webpush"
)

// maxRecordBytes bounds a line. A subscription takes less than 1 KB.
const maxRecordBytes = 64 << 10

// A taker is given each record: its number, its JSON, or why it holds none. It reports whether it
// wants more.
type taker func(n int, text []byte, err error) bool

// records reads a file of lines of JSON, a JSON array, or CSV.
func records(in io.Reader, take taker) error {
	r := bufio.NewReaderSize(in, maxRecordBytes)
	if mark, err := r.Peek(3); err == nil && string(mark) == "\ufeff" {
		r.Discard(3) //nolint:errcheck // it was peeked at
	}
	start, err := r.Peek(512)
	if err != nil && err != io.EOF {
		return err
	}
	start = bytes.TrimSpace(start)
	isLine := len(start) == 0 || start[0] == '{' || bytes.HasPrefix(start, []byte(`"{\`))
	switch {
	case isLine:
		return lineRecords(r, take)
	case start[0] == '[':
		return arrayRecords(r, take)
	}
	return csvRecords(r, take)
}

// lineRecords numbers the lines. Blank ones are none.
func lineRecords(r *bufio.Reader, take taker) error {
	for n := 1; ; n++ {
		line, err := r.ReadSlice('\n')
		var bad error
		for errors.Is(err, bufio.ErrBufferFull) {
			bad = fmt.Errorf("longer than %d bytes", maxRecordBytes)
			_, err = r.ReadSlice('\n')
		}
		line = bytes.TrimSpace(line)
		if (len(line) > 0 || bad != nil) && !take(n, line, bad) || err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// arrayRecords numbers the elements, from 1.
func arrayRecords(r io.Reader, take taker) error {
	d := json.NewDecoder(r)
	if _, err := d.Token(); err != nil {
		return err
	}
	for n := 1; d.More(); n++ {
		var text json.RawMessage
		if err := d.Decode(&text); err != nil {
			return fmt.Errorf("element %d: %w", n, err)
		}
		if !take(n, text, nil) {
			return nil
		}
	}
	_, err := d.Token()
	return err
}

// csvRecords numbers the lines; the first has the names. A row has a column of JSON, or columns
// whose names end in endpoint, p256dh and auth.
func csvRecords(in io.Reader, take taker) error {
	r := csv.NewReader(in)
	r.FieldsPerRecord = -1
	names, err := r.Read()
	for err == nil {
		var row []string
		if row, err = r.Read(); err != nil {
			break
		}
		member, text := map[string]string{}, []byte(nil)
		for i, field := range row {
			if strings.HasPrefix(strings.TrimSpace(field), "{") {
				text = []byte(field)
			}
			for _, name := range []string{"endpoint", "p256dh", "auth"} {
				if i < len(names) && strings.HasSuffix(strings.ToLower(names[i]), name) {
					member[name] = field
				}
			}
		}
		var bad error
		if text == nil && len(member) == 3 {
			text, bad = json.Marshal(map[string]any{"endpoint": member["endpoint"], "keys": member})
		} else if text == nil {
			bad = errors.New("neither JSON nor the columns endpoint, p256dh and auth")
		}
		if n, _ := r.FieldPos(0); !take(n, text, bad) {
			return nil
		}
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// A subscriptionList reads subscriptions.
type subscriptionList struct {
	name    string
	in      io.Reader
	warn    func(format string, a ...any)
	records int64 // read so far
	bad     int
	err     error // why reading ended early
}

// shownBadRecords is how many records that hold no subscription are named.
const shownBadRecords = 10

// all gives the subscription of each record, or the zero value if it holds none, so that each has a
// result.
func (s *subscriptionList) all(ctx context.Context) iter.Seq[webpush.Subscription] {
	return func(yield func(webpush.Subscription) bool) {
		err := records(s.in, func(n int, text []byte, err error) bool {
			s.records++
			var sub webpush.Subscription
			if err == nil {
				sub, err = webpush.ParseSubscription(text)
			}
			if err != nil {
				if s.bad++; s.bad <= shownBadRecords {
					s.warn("%s, line %d: %v", s.name, n, err)
				}
			}
			return ctx.Err() == nil && yield(sub)
		})
		if err != nil {
			s.err = fmt.Errorf("subscriptions: %s: %w", s.name, err)
		}
	}
}
