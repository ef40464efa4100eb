package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"postage/internal/sys/proc"
)

// child is the conductor's side of a worker process.
type child struct{ *proc.Child }

// startChild starts a worker.
func startChild(command, environment []string) (child, error) {
	c, err := proc.Open(proc.Command{Who: "the worker", Args: command, Environment: environment, Group: true})
	return child{c}, err
}

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
