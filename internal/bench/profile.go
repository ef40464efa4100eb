package bench

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

const (
	// profileBlocks is how many processes of each side are profiled; each takes about profileTime.
	profileBlocks = 6
	profileTime   = 500 * time.Millisecond
	// mostMoved is how many functions are listed.
	mostMoved = 10
)

// pair is a benchmark on both sides.
type pair struct{ now, old half }

type half struct {
	binary *Binary
	of     Benchmark
	cpu    int
}

// Profile runs the case's benchmark in more processes, which are not timed, with the sides taking
// turns and in several layouts. It writes a CPU profile of each side into the folder. An operation
// takes about so long; both sides do the same number of them.
func (s *Set) Profile(ctx context.Context, caseName string, operation time.Duration, folder string) (*BenchProfile, error) {
	of := s.pairs[caseName]
	if of.old.binary == nil {
		return nil, fmt.Errorf("profile %s: it has no old side", caseName)
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	n := int(max(1, profileTime/max(1, operation)))
	patience := max(time.Minute, 100*profileTime, 100*operation)
	var old, now []*profile.Profile
	for block := range profileBlocks {
		for _, side := range []struct {
			half
			to *[]*profile.Profile
		}{{of.old, &old}, {of.now, &now}} {
			one, err := side.profile(ctx, block, n, patience)
			if err != nil {
				return nil, fmt.Errorf("profile %s: %w", caseName, err)
			}
			*side.to = append(*side.to, one)
		}
	}
	p := &BenchProfile{Case: caseName}
	name := strings.NewReplacer("/", "_", " ", "_", ":", "_").Replace(strings.TrimPrefix(caseName, "Bench/pkg="))
	functions, period := map[string]*MovedFunction{}, 0.0 // ns of an operation that a sample stands for
	for _, side := range []struct {
		all     []*profile.Profile
		suffix  string
		file    *string
		samples *int64
		count   func(*MovedFunction) *float64
	}{
		{old, ".old.pprof", &p.Old, &p.OldSamples, func(m *MovedFunction) *float64 { return &m.Old }},
		{now, ".new.pprof", &p.New, &p.NewSamples, func(m *MovedFunction) *float64 { return &m.New }},
	} {
		merged, err := profile.Merge(side.all)
		if err != nil {
			return nil, err
		}
		*side.file = filepath.Join(folder, name+side.suffix)
		if err := writeProfile(*side.file, merged); err != nil {
			return nil, err
		}
		for _, sample := range merged.Sample {
			*side.samples += sample.Value[0]
			function := functionOf(sample)
			if functions[function] == nil {
				functions[function] = &MovedFunction{Function: function}
			}
			*side.count(functions[function]) += float64(sample.Value[0])
		}
		period = float64(merged.Period) / float64(n*profileBlocks)
	}
	if p.OldSamples == 0 || p.NewSamples == 0 {
		return nil, fmt.Errorf("profile %s: no samples: it uses no CPU time", caseName)
	}
	for _, m := range functions {
		m.HalfWidth = 1.96 * math.Sqrt(m.Old+m.New) * period
		m.Old, m.New = m.Old*period, m.New*period
		m.Move = m.New - m.Old
		p.Moved = append(p.Moved, *m)
	}
	slices.SortFunc(p.Moved, func(a, b MovedFunction) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Move), math.Abs(a.Move)), cmp.Compare(a.Function, b.Function))
	})
	p.Moved = p.Moved[:min(mostMoved, len(p.Moved))]
	return p, nil
}

// profile returns the CPU profile of one process that does n operations.
func (h *half) profile(ctx context.Context, block, n int, patience time.Duration) (*profile.Profile, error) {
	f, err := os.CreateTemp("", "postage-profile-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	if err := f.Close(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("hang: it did not end within %v", patience))
	defer cancel()
	args := append(arguments(h.of.pattern(), n, h.cpu), "-test.cpuprofile="+f.Name())
	said, trouble, err := h.binary.process(ctx, h.binary.Layouts[block%len(h.binary.Layouts)], args, h.binary.Environment)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	} else if err != nil {
		return nil, fmt.Errorf("its process ended (%w): %s", err, why(said+trouble))
	}
	text, err := os.ReadFile(f.Name())
	if err != nil {
		return nil, err
	}
	return profile.ParseData(text)
}

// functionOf returns the function that a sample was taken in, even if it was inlined there.
func functionOf(s *profile.Sample) string {
	if len(s.Location) == 0 || len(s.Location[0].Line) == 0 || s.Location[0].Line[0].Function == nil {
		return "(not known)"
	}
	return s.Location[0].Line[0].Function.Name
}

func writeProfile(name string, p *profile.Profile) error {
	var text bytes.Buffer
	if err := p.Write(&text); err != nil {
		return err
	}
	return os.WriteFile(name, text.Bytes(), 0o666)
}
