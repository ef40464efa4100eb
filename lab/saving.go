package lab

import (
	"time"

	"postage/record"
)

// saver writes a run's record from time to time: whole, so that its file is valid at every moment.
// That takes longer as the run grows. So after a write the saver waits for savingRest times as long
// as the write took; a run that is killed loses no more blocks than were measured in that time.
type saver struct {
	save func(*record.Record) error
	now  func() time.Time
	due  time.Time
}

const savingRest = 50

// write writes the record, if that is due or must be.
func (s *saver) write(rec *record.Record, must bool) error {
	begun := s.now()
	if s.save == nil || !must && begun.Before(s.due) {
		return nil
	}
	err := s.save(rec)
	done := s.now()
	s.due = done.Add(savingRest * done.Sub(begun))
	return err
}
