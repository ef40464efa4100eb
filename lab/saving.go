package lab

import (
	"time"

	"postage/record"
)

// saver writes a run's record from time to time. A record is written whole, so that its file is
// valid at every moment. That takes longer as the run grows; after each block it would take time
// quadratic in their number. So after a write the saver waits for savingRest times as long as the
// write took. Writing takes a twentieth of a run of any length, and a run that is killed loses no
// more blocks than were measured in that time.
type saver struct {
	save func(*record.Record) error
	now  func() time.Time
	due  time.Time
}

const savingRest = 20

// blockDone writes the record if that is due.
func (s *saver) blockDone(rec *record.Record) error {
	if s.now().Before(s.due) {
		return nil
	}
	return s.whole(rec)
}

// whole writes the record.
func (s *saver) whole(rec *record.Record) error {
	begun := s.now()
	err := s.save(rec)
	done := s.now()
	s.due = done.Add(savingRest * done.Sub(begun))
	return err
}
