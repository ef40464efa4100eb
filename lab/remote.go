package lab

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"postage/internal/sys/proc"
	"postage/record"
)

// answerer is the process of a contender: a worker of this program, or another program.
type answerer interface {
	ask(ctx context.Context, r request, patience time.Duration) (reply, error)
	Kill()
}

// child is a worker process.
type child struct{ *proc.Child }

// ask sends a request and waits for the answer. An error says what became of the
// contender; after one the child is not to be asked again.
func (c child) ask(ctx context.Context, r request, patience time.Duration) (answer reply, err error) {
	err = c.AskWithin(ctx, patience, r, &answer)
	var ended *proc.EndedError
	switch {
	case errors.As(err, &ended):
		ended.Who = "the worker, asked to " + r.Op + ","
	case errors.Is(err, proc.ErrNoAnswer):
		where := c.Stacks()
		if where != "" {
			where = "; its main goroutine " + where
		}
		err = fmt.Errorf("hang: no answer to %s within %v%s", r.Op, patience, where)
	}
	return answer, err
}

// remote asks a Runner what a worker of this program is asked.
type remote struct{ Runner }

func (c *remote) ask(ctx context.Context, r request, patience time.Duration) (answer reply, err error) {
	hang := fmt.Errorf("hang: no answer to %s within %v", r.Op, patience)
	ctx, cancel := context.WithTimeoutCause(ctx, patience, hang)
	defer cancel()
	switch r.Op {
	case opOpen:
		answer.Instrument, err = record.Instrument, c.Open(ctx)
	case opCalibrate:
		answer, err = c.calibrate(ctx, time.Duration(r.TargetNS))
	case opWarm:
		r.N = max(1, r.N/warmPart)
		err = warm(ctx, r, c)
	case opRun:
		answer.Batch, err = c.Batch(ctx, r.N)
	case opClose:
		answer.Warnings, err = c.Close(ctx)
	default:
		err = fmt.Errorf("a runner cannot %s", r.Op)
	}
	if err != nil && errors.Is(context.Cause(ctx), hang) {
		err = hang
	}
	return answer, err
}

const (
	// mostFixed is up to how long one operation may take for calibrate to look for a fixed part.
	mostFixed = 500 * time.Millisecond
	// grown is the part of what one operation alone takes that each further one takes where hardly
	// anything is fixed.
	grown = 0.9
)

// calibrate finds the number of operations. A batch of two or more has nothing in it that is fixed,
// a single operation has, so one is the answer only where the next takes as long.
func (c *remote) calibrate(ctx context.Context, target time.Duration) (answer reply, err error) {
	run := func(n int) (*Batch, error) {
		b, err := c.Batch(ctx, n)
		if err == nil && b.Took > 0 {
			b.WallNS = b.Took.Nanoseconds()
		}
		return b, err
	}
	single := time.Duration(math.MaxInt64)
	for range 2 {
		b, err := run(1)
		if err != nil {
			return answer, err
		}
		if single = min(single, time.Duration(b.WallNS)); single > mostFixed {
			return reply{N: 1, Warnings: []string{"one operation fills a batch: what it sets up within its timer is in its time"}}, nil
		}
	}
	if single > target/2 { // there is room for one operation, or something is fixed in it
		b, err := run(2)
		if err != nil || float64(b.WallNS) >= grown*2*float64(single) {
			return reply{N: 1}, err
		}
	}
	// The more is fixed, the longer batches are: their difference must not drown in it.
	answer.N, err = calibrate(max(target, single), 2, run)
	return answer, err
}

// warmPart is how many times smaller than a batch each of a warm-up's two batches is.
const warmPart = 4

// warm runs two short batches that do not count, and between them goes on to where the block begins
// in the collector's cycle: what has just been opened, or has lost its pools to a collection, is
// slower at first.
func warm(ctx context.Context, r request, c interface {
	Batch(ctx context.Context, n int) (*Batch, error)
	Collect(ctx context.Context, part float64) error
}) error {
	_, err := c.Batch(ctx, r.N)
	if err == nil {
		err = c.Collect(ctx, rand.New(rand.NewPCG(r.Seed, uint64(r.Block))).Float64())
	}
	if err == nil {
		_, err = c.Batch(ctx, r.N)
	}
	if err != nil {
		return fmt.Errorf("warm-up: %w", err)
	}
	return nil
}
