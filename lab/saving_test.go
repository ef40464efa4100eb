package lab

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"postage/record"
)

// In a run of 2,000 blocks, writing the record takes a fiftieth of the time that the
// blocks take, whatever the record grows to, and never are more blocks unwritten than were
// measured in 50 times what a write takes.
func TestSavingALongRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const blocks, block, write = 2000, 100 * time.Millisecond, 200 * time.Microsecond // a block
		var writing time.Duration
		writes, written := 0, 0
		rec := &record.Record{}
		r := &run{rec: rec, conductor: &Conductor{Save: func(rec *record.Record) error {
			took := time.Duration(len(rec.Blocks)) * write
			time.Sleep(took)
			writes, written, writing = writes+1, len(rec.Blocks), writing+took
			return nil
		}}}
		if err := r.save(true); err != nil {
			t.Fatal(err)
		}
		for i := range blocks {
			time.Sleep(block)
			rec.Blocks = append(rec.Blocks, record.Block{Number: i + 1})
			if err := r.save(false); err != nil {
				t.Fatal(err)
			}
			if i == 9 && written != 10 {
				t.Errorf("%d of the first 10 blocks are written: a short run keeps every block", written)
			}
			most := int(savingRest*time.Duration(len(rec.Blocks))*write/block) + 1
			if lost := len(rec.Blocks) - written; lost > most {
				t.Fatalf("after block %d, %d blocks are not written, more than %d", i+1, lost, most)
			}
		}
		t.Logf("%d writes of %v in %v of blocks", writes, writing, blocks*block)
		if limit := blocks * block / savingRest; writing > limit+write*blocks {
			t.Errorf("writing took %v, more than %v", writing, limit)
		}
	})
}

func TestSaveFailureEndsTheRunBeforeMeasuring(t *testing.T) {
	entries, rec := prepared(t, time.Minute, "op=plain")
	c := testConductor(t)
	c.Save = func(*record.Record) error { return errors.New("no space left on device") }
	if err := c.Run(context.Background(), entries, rec); err == nil || len(rec.Blocks) > 0 {
		t.Errorf("err = %v after %d blocks", err, len(rec.Blocks))
	}
}
