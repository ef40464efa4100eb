package cli

import (
	"context"
	"testing"
)

// counting counts its operations.
type counting struct{ done int }

func (*counting) Prove(context.Context) error { return nil }
func (*counting) Close() error                { return nil }
func (*counting) MinOps() int                 { return 8 }
func (c *counting) Run(n int) error           { c.done += n; return nil }

// Slowed by 5%, a contender does 5% more operations, however many a batch has.
func TestSlowed(t *testing.T) {
	for _, batch := range []int{1, 7, 20, 1000} {
		c := &counting{}
		s := &slow{Instance: c, by: 0.05}
		for range 1000 {
			if err := s.Run(batch); err != nil {
				t.Fatal(err)
			}
		}
		if extra := c.done - 1000*batch; extra < 50*batch-1 || extra > 50*batch {
			t.Errorf("in batches of %d, slowed by 5%% it does %d operations for %d", batch, c.done, 1000*batch)
		}
		if s.MinOps() != 20 {
			t.Errorf("a batch has at least %d operations, want the 20 that one more takes", s.MinOps())
		}
	}
}
