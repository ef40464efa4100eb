package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"postage/internal/build"
	"postage/lab"
)

// Commits are those of a range such as "v1.2.0..main" after the first one, oldest first, following
// first parents. good is the first.
func Commits(ctx context.Context, folder, between string) (good string, after []string, err error) {
	good, bad, ok := strings.Cut(between, "..")
	if !ok || good == "" || bad == "" {
		return "", nil, fmt.Errorf("--bisect %s: want two revisions with .. between them, the good one first", between)
	}
	list, err := build.Output(ctx, folder, "git", "rev-list", "--reverse", "--first-parent", good+".."+bad)
	if after = strings.Fields(list); err == nil && len(after) == 0 {
		err = errors.New("there are no commits between the two")
	}
	if err != nil {
		return "", nil, fmt.Errorf("--bisect %s: %w", between, err)
	}
	return good, after, nil
}

// Only are the entries of the set's one benchmark. The error says why there is not one that can be
// measured on both sides.
func (s *Set) Only() ([]lab.Entry, error) {
	if len(s.cases) > 1 {
		return nil, fmt.Errorf("-bench selects %d benchmarks, but a bisection follows one: %s", len(s.cases), strings.Join(s.cases, ", "))
	}
	for _, e := range s.Entries {
		if why := e.Contender.NotPossible; why != "" {
			return nil, errors.New(why)
		}
	}
	if len(s.Entries) == 0 {
		return nil, fmt.Errorf("there is no benchmark that -bench selects; %s", strings.Join(s.Notes, "; "))
	}
	return s.Entries, nil
}
