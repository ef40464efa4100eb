// Package cli is the command: subcommands, flags, exit codes.
//
//	func main() { cli.Main(append(stage.Suites(), mine())...) }
//
// is a program with Postage's rows and the rows of a suite of its own. It has run, list, show,
// compare, history and the other commands for both. docs/suites.md has a whole one.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"postage/lab"
)

// Main is the whole program for these suites. It does not return. The program has its file's name,
// in its help, errors and hints too.
func Main(suites ...lab.Suite) {
	// When a reader leaves, the write fails, and the program removes what it built.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr, suites...)
	stop()
	os.Exit(code)
}

// Run is [Main] without the process around it. The first of args is the program's name, as in
// [os.Args]. It returns the exit status: 0, 1 if a row failed its proof or a gate found a
// regression, 2 for wrong usage or a fault of the tool, 130 if ctx ended. Git's variables of one
// repository are removed from the environment.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, suites ...lab.Suite) int {
	for _, variable := range repositoryVariables {
		_ = os.Unsetenv(variable)
	}
	name := strings.TrimSuffix(filepath.Base(args[0]), ".exe")
	return program{name, suites}.run(ctx, args[1:], stdin, stdout, stderr)
}

// repositoryVariables are the variables by which git names a repository (`git rev-parse
// --local-env-vars`), without its settings, which say what repositories the user trusts. In a hook,
// an alias or `git rebase -x` git exports them, and a clone would be made in that repository.
// Without them, every process that this one starts finds its repository by its folder.
var repositoryVariables = []string{"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_DIR", "GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE",
	"GIT_NO_REPLACE_OBJECTS", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE", "GIT_WORK_TREE"}

// A program is the command for some suites.
type program struct {
	name   string
	suites suites
}

// suites are what a program can measure.
type suites []lab.Suite

// inText is this program's name where a text tells the reader to run it.
var inText = regexp.MustCompile("(^|[\\s`'(])postage ")

// called calls the program by its own name in a text.
func called(name, text string) string {
	return inText.ReplaceAllString(text, "${1}"+name+" ")
}

// Exit codes.
const (
	exitOK          = 0
	exitFailedRow   = 1   // some row failed its proof
	exitUsage       = 2   // wrong usage, or the tool itself failed
	exitInterrupted = 130 // by Ctrl-C or SIGTERM
	exitPipe        = 141 // nobody reads the output any more
)

// errFailedRow ends a command in which some row failed its proof; the output says which.
var errFailedRow = errors.New("some row failed its proof")

// hinted is an error with advice.
func hinted(err error, hint string) error { return &lab.Hinted{Err: err, Hint: hint} }

// run is the whole program except for the process around it.
func (p program) run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := p.rootFor(args)
	root.SetArgs(asGoFlags(args))
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var status exitStatus
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, lab.ErrInterrupted), ctx.Err() != nil:
		for _, other := range joinedFaults(err) {
			p.explain(stderr, other)
		}
		return exitInterrupted
	case errors.Is(err, syscall.EPIPE):
		return exitPipe
	case errors.Is(err, errFailedRow):
		return exitFailedRow
	case errors.As(err, &status):
		return int(status)
	}
	p.explain(stderr, err)
	return exitUsage
}

// explain prints an error, with its advice.
func (p program) explain(stderr io.Writer, err error) {
	fmt.Fprintf(stderr, "%s: %s\n", p.name, called(p.name, err.Error()))
	if h, ok := errors.AsType[*lab.Hinted](err); ok && h.Hint != "" {
		fmt.Fprintf(stderr, "hint: %s\n", called(p.name, h.Hint))
	}
}

// joinedFaults returns the errors that came with an interruption, such as a record that cannot be
// saved.
func joinedFaults(err error) (others []error) {
	var joined interface{ Unwrap() []error }
	if !errors.Is(err, lab.ErrInterrupted) || !errors.As(err, &joined) {
		return nil
	}
	for _, e := range joined.Unwrap() {
		switch {
		case errors.Is(e, lab.ErrInterrupted):
			others = append(others, joinedFaults(e)...)
		case !errors.Is(e, context.Canceled) && !errors.Is(e, errFailedRow):
			others = append(others, e)
		}
	}
	return others
}

// rootFor is the program's command for these arguments. A process that the program has started has
// its own command alone: the others, with examples of rows in their help, would take it longer than
// its own start.
func (p program) rootFor(args []string) *cobra.Command {
	for _, started := range []*cobra.Command{p.workerCommand(), p.suites.serveCommand()} {
		if len(args) > 0 && args[0] == started.Name() {
			root := &cobra.Command{Use: p.name, SilenceErrors: true, SilenceUsage: true}
			root.AddCommand(started)
			return root
		}
	}
	return p.newRoot()
}

// version is the program's, the commit that it was built from, and Go's.
func version() string {
	number, commit := "(devel)", "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		number = cmp.Or(info.Main.Version, number)
		commit = cmp.Or(commitOf(info), commit)
	}
	return fmt.Sprintf("%s, commit %s, %s %s/%s", number, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func (p program) newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   p.name,
		Short: "Tells what a message costs",
		Long: `Postage measures what a message costs on this machine, with proof that every
contender did the work, an honest interval, and the distance to the physical floor.`,
		Example: p.suites.expand(`  postage run                          a first look at every stage, 90 seconds
  postage run {some}
  postage bring orders.ndjson          your own message
  postage bench ./... --against main   your own benchmarks
  postage load http://localhost:8080/  your own server
  postage doctor                       can this machine's figures be trusted?`),
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprint(".FlagUsagesWrapped ", helpWidth)))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return hinted(err, fmt.Sprintf("`%s --help` shows the flags", cmd.CommandPath()))
	})
	for _, group := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Measure:", append(p.others(), p.runCommand(), benchCommand())},
		{"Read and compare:", []*cobra.Command{p.showCommand(), p.compareCommand(), p.historyCommand(), p.claimsCommand()}},
		{"Help:", []*cobra.Command{p.listCommand(), p.doctorCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		for _, cmd := range group.commands {
			cmd.GroupID = group.title
		}
		root.AddCommand(group.commands...)
		root.SetHelpCommandGroupID(group.title)
		root.SetCompletionCommandGroupID(group.title)
	}
	root.AddCommand(p.workerCommand(), p.suites.serveCommand())
	root.AddCommand(p.hidden()...)
	present(root, p.name)
	return root
}
