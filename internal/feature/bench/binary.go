package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"postage/internal/feature/build"
	"postage/internal/sys/proc"
	"postage/lab"
	"postage/record"
)

// Binary is a package's test binary, built in one layout or several.
type Binary struct {
	*lab.Build
	Package Package
	better  map[string]string // properties: which is better of a figure, as [record.Better] has it
}

// Build builds a package's test binary in that many function layouts; see [build.Source.Layouts].
func Build(ctx context.Context, side *build.Side, p Package, layouts int) (*Binary, error) {
	b := &Binary{Package: p, better: map[string]string{record.Better + "MB/s": "higher"}}
	over, err := overlay(ctx, side.Source)
	if err != nil {
		return nil, err
	}
	b.Build, err = side.Build(ctx, build.Target{Package: p.Path, Test: true, Flags: []string{"-overlay=" + over}}, layouts)
	return b, err
}

// command returns what starts one layout with one benchmark.
func (b *Binary) command(layout int, pattern, mode string) (args, environment []string) {
	args = []string{b.Commands[layout][0], "-test.run=^$", "-test.bench=" + pattern, "-test.benchtime=2x", "-test.paniconexit0", "-test.timeout=0"}
	return args, append([]string{"POSTAGE_BENCH=" + mode, "PWD=" + b.Package.Folder}, b.Environment...)
}

// Benchmark is a benchmark that was found by running it once.
type Benchmark struct {
	Name     string        // with the names of those above it: "BenchmarkMarshal/size=10"
	Took     time.Duration // for one operation
	CPU      time.Duration // the same, of CPU time: 0 if it is not known
	Call     time.Duration // of the function with b.N = 1, what it sets up each time included
	Bytes    int           // that one operation allocates, with what is allocated once
	Parallel bool          // it calls RunParallel
	Waits    bool          // it uses less CPU time than wall time
	Skips    bool          // on purpose: it is no fault
	Failed   string        // why it cannot be measured, "" if it can
}

// pattern returns a pattern that matches this benchmark only.
func (b *Benchmark) pattern() string {
	parts := strings.Split(b.Name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// verdictLine is the line that package testing prints about a benchmark that failed.
var verdictLine = regexp.MustCompile(`^(?:\s*|Benchmark\S+\s+)--- FAIL: \S+$`)

// why returns what the output of a process that ended says about the reason: the last line that
// the last benchmark that failed logged.
func why(said string) string {
	reason, open := "", false
	for line := range strings.Lines(said) {
		switch {
		case verdictLine.MatchString(strings.TrimRight(line, "\r\n")):
			reason, open = stopReason(true, ""), true
		case !strings.HasPrefix(line, "    "):
			open = false
		case open:
			reason = stopReason(true, line)
		}
	}
	if reason != "" {
		return reason
	}
	return crash(said)
}

// crash is why, of a process that did not end because a benchmark failed.
func crash(said string) string {
	var own strings.Builder
	for line := range strings.Lines(said) {
		own.WriteString(heading.ReplaceAllString(line, ""))
	}
	if reason := proc.Reason(own.String()); reason != "" {
		return reason
	}
	return "it printed no reason"
}

// heading matches what package testing prints before the first benchmark, and a benchmark's name,
// which may stand before what it says itself.
var heading = regexp.MustCompile(`^(goos|goarch|pkg|cpu): .*\s|^Benchmark\S*\s+|^(PASS|ok)\b.*\s`)

// List runs each benchmark that a pattern selects once. It lists those that can be measured and
// those that cannot. Each function runs in a process of its own, which may take as long as
// patience.
func (b *Binary) List(ctx context.Context, pattern string, patience time.Duration) (all []Benchmark, err error) {
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	arguments, environment := b.command(0, pattern, "name")
	said, trouble, fault := b.process(within, arguments[0], arguments[1:], environment)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if fault != nil || !passed.MatchString(trouble) {
		for _, top := range b.Package.Tops {
			if fault == nil {
				all = append(all, notRun(top))
			} else if all, err = finished(all, top, false, within, patience, fault, trouble); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	var tops []string
	for line := range strings.Lines(said) {
		var top string
		_, line, _ = strings.Cut(line, "postage ")
		if _, err := fmt.Sscanf(line, "has %q", &top); err == nil && !slices.Contains(tops, top) {
			tops = append(tops, top)
		}
	}
	for _, top := range tops {
		found, err := b.list(ctx, top, pattern, patience)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return distinct(all), nil
}

// notRun is a benchmark whose process TestMain ends.
func notRun(name string) Benchmark {
	return Benchmark{Name: name, Failed: "it was not run: its process ended before"}
}

// passed matches what package testing prints at its end.
var passed = regexp.MustCompile(`(?m)PASS$`)

// distinct has each name once: package testing runs both functions of one name, which may stand in
// a package and in its external tests.
func distinct(all []Benchmark) (once []Benchmark) {
	for _, one := range all {
		if twin := find(once, one.Name); twin != nil {
			twin.Failed = "two benchmarks have this name"
		} else {
			once = append(once, one)
		}
	}
	return once
}

// stopReason says why a benchmark stopped, with the last line that it logged.
func stopReason(failed bool, logged string) string {
	reason := "it skips"
	if failed {
		reason = "it fails"
	}
	if lines := strings.Split(strings.TrimSpace(logged), "\n"); lines[0] != "" {
		reason += ": " + strings.TrimSpace(lines[len(lines)-1])
	}
	return reason
}

func (b *Binary) list(ctx context.Context, top, pattern string, patience time.Duration) (found []Benchmark, _ error) {
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	arguments, environment := b.command(0, pattern, "list "+top)
	said, trouble, err := b.process(within, arguments[0], arguments[1:], environment)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	b.readUnits(trouble)
	running, ran, stopped, again := top, false, false, false
	for line := range strings.Lines(said) {
		_, line, hooks := strings.Cut(line, "postage ")
		var one Benchmark
		var failed bool
		var logged string
		var queued time.Duration // it waited for a processor
		if !hooks {
			continue // the benchmark's own
		} else if _, err := fmt.Sscanf(line, "runs %q", &running); err == nil {
			ran, again = true, false
			continue
		} else if _, err := fmt.Sscanf(line, "stopped %q %t %q", &one.Name, &failed, &logged); err == nil {
			one.Failed, stopped = stopReason(failed, logged), stopped || failed
			one.Skips = !failed
		} else if _, err := fmt.Sscanf(line, "ran %q %d %d %d %t %d %d", &one.Name, &one.Took, &one.CPU, &queued, &one.Parallel, &one.Call, &one.Bytes); err != nil {
			continue
		}
		one.Waits = waits(one.Took-queued, one.CPU)
		if again && found[len(found)-1].Name == one.Name {
			found = found[:len(found)-1] // it has run once more
		}
		found, again = append(found, one), one.Failed == ""
	}
	if !ran && err == nil {
		return []Benchmark{notRun(top)}, nil
	}
	// The benchmark that ended the process may already be listed as run.
	return finished(found, running, stopped, within, patience, err, trouble)
}

// readUnits finds the lines that say of a unit which is better, "Unit hits/op better=higher", as
// benchstat does, among what the tests print.
func (b *Binary) readUnits(printed string) {
	for line := range strings.Lines(printed) {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] != "Unit" {
			continue
		}
		for _, word := range words[2:] {
			if which, is := strings.CutPrefix(word, "better="); is && (which == "higher" || which == "lower") {
				b.better[record.Better+words[1]] = which
			}
		}
	}
}

// waits reports whether an operation waits for something else than a processor.
func waits(took, cpu time.Duration) bool { return cpu > 0 && took > time.Millisecond && cpu < took/2 }

// finished adds to what a listing found why its process did not end well, as a fault of the
// benchmark that ran then.
func finished(found []Benchmark, running string, stopped bool, within context.Context, patience time.Duration, err error, said string) ([]Benchmark, error) {
	var exit *exec.ExitError
	reason := ""
	switch {
	case within.Err() != nil:
		reason = fmt.Sprintf("hang: it did not end within %v; --timeout gives it longer", patience)
	case errors.As(err, &exit) && exit.ExitCode() != 1: // which benchmarks that fail have
		reason = fmt.Sprintf("its process ended (%v): %s", err, crash(said))
	case exit != nil && !stopped:
		reason = fmt.Sprintf("its process ended (%v): %s", err, why(said))
	case err != nil && exit == nil:
		return nil, err
	default:
		return found, nil
	}
	found = slices.DeleteFunc(found, func(one Benchmark) bool { return one.Name == running })
	return append(found, Benchmark{Name: running, Failed: reason}), nil
}

// process runs one of the binary's files in its package's folder, and returns what it printed.
func (b *Binary) process(ctx context.Context, file string, arguments, environment []string) (said, trouble string, err error) {
	cmd := exec.CommandContext(ctx, file, arguments...)
	proc.OwnGroup(cmd)
	cmd.Dir, cmd.Env, cmd.WaitDelay = b.Package.Folder, slices.Concat(os.Environ(), []string{"PWD=" + b.Package.Folder}, environment), time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}
