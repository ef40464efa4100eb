package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"postage/internal/build"
	"postage/lab"
	"postage/record"
)

// Bisection measures one benchmark at several commits beside the commit at which it was good.
type Bisection struct {
	// Commits are those after the good one, oldest first. The last one is bad.
	Commits []string
	options Options
	good    *side
	pkg     Package
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
			names, b.pkg = append(names, p.Path+" "+one.Name), p
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

// The contenders of a bisection's case.
const (
	good = "code=good"
	Then = "code=then" // at the commit that is measured
)

// Entries returns the benchmark at a commit and at the good one, which is the baseline. The error
// says why it cannot be measured there.
func (b *Bisection) Entries(ctx context.Context, commit string) ([]lab.Entry, error) {
	then, err := b.side(ctx, commit)
	if err != nil {
		return nil, err
	}
	if err := then.failed[b.pkg.Path]; err != nil {
		return nil, err
	}
	was := b.good.benchmarks[b.pkg.Path][0]
	is := find(then.benchmarks[b.pkg.Path], was.Name)
	switch {
	case is == nil:
		return nil, fmt.Errorf("%s does not have the benchmark", shortCommit(commit))
	case is.Failed != "" || was.Failed != "":
		return nil, errors.New(is.Failed + was.Failed)
	}
	c := newCase(b.pkg, &was, 0, false)
	c.Baseline = good
	var entries []lab.Entry
	for _, one := range []struct {
		name string
		role record.Role
		side *side
		of   Benchmark
	}{{good, record.RoleBaseline, b.good, was}, {"code=control", record.RoleControl, b.good, was}, {Then, record.RoleContender, then, *is}} {
		e := one.side.entry(c, b.pkg, one.of, 0)
		e.Role, e.Contender.Name = one.role, one.name
		entries = append(entries, e)
	}
	return entries, nil
}
