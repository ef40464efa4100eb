package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"postage/internal/build"
	"postage/lab"
)

// Bisection measures one benchmark at several commits beside the commit at which it was good.
type Bisection struct {
	// Commits are those after the good one, oldest first. The last one is bad.
	Commits []string
	options Options
	good    *side
	sources []*build.Source
}

// NewBisection lists the commits of a range such as "v1.2.0..main", following first parents, and
// builds the good one. The options must select exactly one benchmark.
func NewBisection(ctx context.Context, o Options, commits string) (b *Bisection, err error) {
	good, bad, ok := strings.Cut(commits, "..")
	if !ok || good == "" || bad == "" {
		return nil, fmt.Errorf("--bisect %s: want two revisions with .. between them, the good one first", commits)
	}
	b = &Bisection{options: o}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("--bisect %s: %w", commits, err), b.Close())
		}
	}()
	list, err := build.Output(ctx, o.Folder, "git", "rev-list", "--reverse", "--first-parent", good+".."+bad)
	if err != nil {
		return b, err
	}
	if b.Commits = strings.Fields(list); len(b.Commits) == 0 {
		return b, errors.New("there are no commits between the two")
	}
	if b.good, err = b.side(ctx, good); err != nil {
		return b, err
	}
	var names []string
	for _, p := range b.good.packages {
		if err := b.good.failed[p.Path]; err != nil {
			return b, err
		}
		for _, one := range b.good.benchmarks[p.Path] {
			names = append(names, p.Path+" "+one.Name)
		}
	}
	if len(names) == 0 {
		return b, fmt.Errorf("%s has no benchmark that -bench %s selects", good, o.Bench)
	}
	if len(names) > 1 {
		return b, fmt.Errorf("-bench %s selects %d benchmarks, but a bisection follows one: %s", o.Bench, len(names), strings.Join(names, ", "))
	}
	return b, nil
}

func (b *Bisection) side(ctx context.Context, revision string) (*side, error) {
	source, err := build.Revision(ctx, b.options.Folder, revision)
	if err != nil {
		return nil, err
	}
	b.sources = append(b.sources, source)
	return b.options.side(ctx, source)
}

// Close removes what was checked out.
func (b *Bisection) Close() error { return closeAll(b.sources) }

// Entries returns the benchmark at a commit, which is the baseline, and at the good one. The error
// says why it cannot be measured there.
func (b *Bisection) Entries(ctx context.Context, commit string) ([]lab.Entry, error) {
	then, err := b.side(ctx, commit)
	if err != nil {
		return nil, err
	}
	set := &Set{pairs: map[string]pair{}}
	set.join(b.options, then, b.good, "")
	for _, e := range set.Entries {
		if why := e.Contender.NotPossible; why != "" {
			return nil, errors.New(why)
		}
	}
	if len(set.Entries) == 0 {
		return nil, errors.New(strings.Join(set.Notes, "; "))
	}
	return set.Entries, nil
}
