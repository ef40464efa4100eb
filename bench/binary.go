package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"postage/build"
	"postage/proc"
)

// Binary is a package's test binary, built in one layout or several.
type Binary struct {
	Package Package
	Layouts []string // files
	// Plain says why the binary has no hook, so that each batch is a process. It is "" if the
	// binary has one.
	Plain   string
	counter func() (*os.File, error) // see proc.Command
}

// Build builds a package's test binary in that many function layouts; see [build.Source.Layouts].
func Build(ctx context.Context, source *build.Source, p Package, layouts int) (*Binary, error) {
	folder, err := source.Folder(ctx)
	if err != nil {
		return nil, err
	}
	b := &Binary{Package: p, counter: proc.InheritedInstructions}
	var flags []string
	over, err := overlay(ctx, folder)
	if errors.Is(err, errNoHook) {
		b.Plain = err.Error()
	} else if err != nil {
		return nil, err
	} else {
		flags = []string{"-overlay=" + over}
	}
	b.Layouts, err = source.Layouts(ctx, build.Target{Package: p.Path, Test: true, Flags: flags}, layouts)
	return b, err
}

// command returns what starts one layout with one benchmark.
func (b *Binary) command(layout int, pattern string, cpu int, mode string) (arguments, environment []string) {
	arguments = []string{b.Layouts[layout], "-test.run=^$", "-test.bench=" + pattern, "-test.benchtime=2x", "-test.v", "-test.paniconexit0", "-test.timeout=0"}
	if cpu > 0 {
		arguments = append(arguments, "-test.cpu="+strconv.Itoa(cpu))
	}
	// As in go test.
	return arguments, []string{"POSTAGE_BENCH=" + mode, "PWD=" + b.Package.Folder}
}

// Benchmark is a benchmark that was found by running it once.
type Benchmark struct {
	Name     string        // with the names of those above it: "BenchmarkMarshal/size=10"
	Took     time.Duration // for one operation
	Parallel bool          // it calls RunParallel
	Waits    bool          // it uses less CPU time than wall time
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

// verdictLine is the line that package testing prints about a benchmark that failed or was skipped.
var verdictLine = regexp.MustCompile(`^(?:\s*|Benchmark\S+\s+)--- (FAIL|SKIP): (\S+?)(?:-\d+)?$`)

// outcomes returns the benchmarks that failed or were skipped by a process's output, and why: the
// last line that each logged. That line comes before the verdict with -test.v, and after it
// without.
func outcomes(said string) (all []Benchmark) {
	logged, bare := "", false
	for line := range strings.Lines(said) {
		m := verdictLine.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		switch {
		case m != nil:
			one := Benchmark{Name: m[2], Failed: "it fails"}
			if m[1] == "SKIP" {
				one.Failed = "it skips"
			}
			if bare = logged == ""; !bare {
				one.Failed += ": " + logged
			}
			all, logged = append(all, one), ""
		case strings.HasPrefix(line, "    ") && bare:
			all[len(all)-1].Failed += ": " + strings.TrimSpace(line)
			bare = false
		case strings.HasPrefix(line, "    "):
			logged = strings.TrimSpace(line)
		}
	}
	return all
}

// why returns what the output of a process that ended says about the reason.
func why(said string) string {
	if all := outcomes(said); len(all) > 0 {
		return all[len(all)-1].Failed
	}
	var own strings.Builder
	for line := range strings.Lines(said) {
		if !heading.MatchString(line) {
			own.WriteString(line)
		}
	}
	if reason := proc.Reason(own.String()); reason != "" {
		return reason
	}
	return "it printed no reason"
}

// heading matches what package testing prints before the first benchmark, and a benchmark's name.
var heading = regexp.MustCompile(`^(goos|goarch|pkg|cpu): |^Benchmark\S*\s*$|^(PASS|ok)\b`)

// List runs each benchmark that a pattern selects once. It lists those that can be measured and
// those that cannot. Each function runs in a process of its own, which may take as long as
// patience.
func (b *Binary) List(ctx context.Context, pattern string, patience time.Duration) ([]Benchmark, error) {
	first, rest, _ := strings.Cut(pattern, "/")
	wanted, err := regexp.Compile(first)
	if err != nil {
		return nil, fmt.Errorf("-bench %s: %w", pattern, err)
	}
	if rest != "" {
		rest = "/" + rest
	}
	var all []Benchmark
	for _, top := range b.Package.Tops {
		if !wanted.MatchString(top) {
			continue
		}
		found, err := b.list(ctx, top, "^"+top+"$"+rest, patience)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func (b *Binary) list(ctx context.Context, top, pattern string, patience time.Duration) (found []Benchmark, err error) {
	if b.Plain != "" {
		return b.listPlain(ctx, top, pattern, patience)
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	arguments, environment := b.command(0, pattern, 0, "list")
	cmd := exec.CommandContext(within, arguments[0], arguments[1:]...)
	proc.OwnGroup(cmd)
	cmd.Dir, cmd.Env, cmd.WaitDelay = b.Package.Folder, append(os.Environ(), environment...), time.Second
	var said, trouble bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &trouble
	err = cmd.Run()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	running := top
	for line := range strings.Lines(said.String()) {
		var one Benchmark
		var cpu time.Duration
		if _, err := fmt.Sscanf(line, "run %q", &running); err == nil {
			continue
		}
		if _, err := fmt.Sscanf(line, "ran %q %d %d %t", &one.Name, &one.Took, &cpu, &one.Parallel); err != nil {
			return nil, fmt.Errorf("%s said %.200q, which is not a benchmark", filepath.Base(b.Layouts[0]), line)
		}
		one.Waits = cpu > 0 && one.Took > time.Millisecond && cpu < one.Took/2
		found = append(found, one)
	}
	stopped := outcomes(trouble.String())
	found = append(found, stopped...)
	// The benchmark that ended the process may already be listed as run.
	lost := func(reason string) {
		found = slices.DeleteFunc(found, func(one Benchmark) bool { return one.Name == running })
		found = append(found, Benchmark{Name: running, Failed: reason})
	}
	var exit *exec.ExitError
	switch {
	case within.Err() != nil:
		lost(fmt.Sprintf("hang: it did not end within %v", patience))
	case errors.As(err, &exit) && len(stopped) == 0:
		lost(fmt.Sprintf("its process ended (%v): %s", err, why(trouble.String())))
	case err != nil && exit == nil:
		return nil, err
	}
	return found, nil
}
