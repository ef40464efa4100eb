package lab

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"postage/record"
)

// answerer is the process of a contender: a worker of this program, or another program.
type answerer interface {
	ask(ctx context.Context, r request, patience time.Duration) (reply, error)
	Kill()
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

// growth is how much more or less an operation may take in batches four times as long.
const growth = 1.5

// mostLooks is how often calibrate looks for growth before it warns.
const mostLooks = 6

// calibrate finds the number of operations. It warns if what one operation takes depends on it.
func (c *remote) calibrate(ctx context.Context, target time.Duration) (answer reply, err error) {
	run := func(n int) (*Batch, error) { return c.Batch(ctx, n) }
	if answer.N, err = calibrate(target, 1, run); err != nil {
		return answer, err
	}
	for tries := 3; ; tries-- {
		b, err := run(answer.N)
		if err != nil {
			return answer, err
		} else if took := time.Duration(b.WallNS); took <= 4*target {
			break
		} else if tries == 1 || took > 40*target {
			return answer, nil // an operation takes so long that more of them are out of the question
		}
	}
	// Compare the fastest of some batches of either size, by CPU time unless the batch waits: the
	// machine may do something else meanwhile. The sizes take turns, as it may do so for a while.
	one, four := math.Inf(1), math.Inf(1)
	sizes := [...]struct {
		n     int
		least *float64
	}{{answer.N, &one}, {4 * answer.N, &four}}
	for look := range mostLooks { // what is said of a benchmark is found more than once
		for try, long := 0, false; try < 3; try++ {
			for turn := range sizes {
				size := sizes[(look+try+turn)%len(sizes)] // who comes first changes
				if long && size.n != answer.N {
					continue
				}
				b, err := run(size.n)
				if err != nil {
					return answer, err
				}
				ns := b.WallNS
				if b.CPUNS > b.WallNS/2 {
					ns = b.CPUNS
				}
				*size.least = min(*size.least, float64(ns)/float64(size.n))
				// It takes much longer already, and may take longer than the user's patience.
				long = long || time.Duration(b.WallNS) > 8*target
			}
		}
		if four <= growth*one && one <= growth*four {
			return answer, nil
		}
	}
	answer.Warnings = []string{fmt.Sprintf("its time depends on N: %.4g ns/op at N = %d, %.4g ns/op at N = %d", one, answer.N, four, 4*answer.N)}
	return answer, nil
}

// warmPart is how many times smaller than a batch each of a warm-up's two batches is.
const warmPart = 4

// warm runs two short batches that do not count, and collects garbage between them: what has just
// been opened, or has lost its pools to a collection, is slower at first.
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
