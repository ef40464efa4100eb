//go:build !benchonly

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"postage/internal/feature/bring"
	"postage/internal/kit/words"
	"postage/internal/usermsg"
	"postage/lab"
	"postage/record"
)

// bringFlags are the flags of `postage bring`.
type bringFlags struct {
	folders []string
	message string
	typ     string
	samples []string
	path    string
	now     string
	budget  time.Duration
	typed   bool
	html    string
	form    formFlags
}

func (p program) bringCommand() *cobra.Command {
	var flags bringFlags
	cmd := &cobra.Command{
		Use:   "bring FILE|PACKAGE|-",
		Short: "Measure a message of your own",
		Long: `Measures your own message with every contender that can take it. It comes as a .proto file, a descriptor
set or buf image, JSON samples alone, or a Go struct. Postage generates code, builds a program with it, has every row prove itself on all samples, and measures.

The program stays in .postage/bring, and is built again only when something has changed. It is a whole postage
with list, run, show, compare and history for your message's rows.`,
		Example: `  postage bring trace.proto -I protos --message TracesData --sample spans.ndjson
  postage bring image.binpb --message TracesData --sample spans.ndjson
  postage bring spans.ndjson --now json
  postage bring ./model --type Order --sample orders.ndjson`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.runBring(cmd, args, flags) },
	}
	f := cmd.Flags()
	f.StringArrayVarP(&flags.folders, "proto-path", "I", nil, "`folder` in which the file and its imports are found; may be repeated")
	f.StringVar(&flags.message, "message", "", "`name` of the message, or the end of it (default the only one)")
	f.StringVar(&flags.typ, "type", "", "`name` of the struct, in a Go package")
	f.StringArrayVar(&flags.samples, "sample", nil, "`file` of samples: .json, .ndjson or .binpb, or - for JSON on standard input")
	f.StringVar(&flags.path, "path", "", "`place` of JSON documents that is brought alone, such as spec.containers or paths.*.get")
	f.BoolVar(&flags.typed, "typed", false, "times, UUIDs and words of a few in JSON samples have types of their own, not text")
	f.StringVar(&flags.html, "html", "", "write the result as a page to this `file` too")
	flags.form.register(cmd)
	f.StringVar(&flags.now, "now", "", "the `codec` that you use today, which the others are compared with, such as codec=json")
	f.DurationVar(&flags.budget, "budget", 0, fmt.Sprintf("total `time` that measuring may take; 0 to build and prove only (default: what building leaves of %v, at least %v)", toFirstTable, shortestLook))
	return cmd
}

// saveInput saves standard input, samples in JSON, as a file.
func saveInput(cmd *cobra.Command, name string) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, cmd.InOrStdin())
	return errors.Join(err, file.Close())
}

// A broughtMessage is a user's message: a schema's, or a Go struct.
type broughtMessage struct {
	name, full, doc string
	samples         *bring.Samples
	build           func(*bring.Workspace, usermsg.Maker) (*bring.Built, error)
}

func (p program) runBring(cmd *cobra.Command, args []string, flags bringFlags) error {
	ctx, begin := cmd.Context(), time.Now()
	at := slices.IndexFunc(p.suites, func(s lab.Suite) bool { return s.Bring != nil })
	switch {
	case at < 0:
		return errors.New("none of this program's suites takes a brought message")
	case flags.budget < 0:
		return fmt.Errorf("--budget %v: must not be less than 0", flags.budget)
	}
	err := hideRuns()
	if err != nil {
		return hinted(fmt.Errorf("the program and its records go below the current folder: %w", err), "run this in a folder that can be written, and name the files by their paths")
	}
	for _, names := range [][]string{args, flags.samples} {
		for i, name := range names {
			if name == "-" {
				file := filepath.Join(runsFolder, "..", "stdin.ndjson")
				if names[i], err = file, saveInput(cmd, file); err != nil {
					return err
				}
			} else if err := bring.Foreign(name); err != nil {
				return err
			}
		}
	}
	read := readSchema
	if flags.typ != "" || filepath.Ext(args[0]) == "" || isFolder(args[0]) {
		read = readStruct
	}
	brought, err := read(cmd, args, flags)
	if err != nil {
		return err
	}
	say(cmd, "%s; read in %s; generating code and building takes up to some minutes", brought.samples, seconds(time.Since(begin)))
	w, err := bring.Open(ctx, brought.name, brought.full)
	if err != nil {
		return err
	}
	if w.Name != brought.name {
		say(cmd, "another message is called %s here, so this one is called %s", brought.name, w.Name)
	}
	unlock, err := w.Lock(ctx, func() { say(cmd, "another command is at %s in this folder: waiting for it", w.Name) })
	if err != nil {
		return err
	}
	defer unlock()
	built, err := brought.build(w, p.suites[at].Bring)
	if err != nil {
		return err
	}
	if built.Build > 0 {
		say(cmd, "generated in %s, built in %s", seconds(built.Generate), seconds(built.Build))
	} else {
		say(cmd, "the program is there from before")
	}
	if err := proveBrought(cmd, w, brought, flags.now); err != nil {
		return err
	}
	if !cmd.Flags().Changed("budget") {
		flags.budget = lookAfter(time.Since(begin))
	} else if flags.budget == 0 {
		say(cmd, "measure with: %s run", w.Program())
		return nil
	}
	out := newRecordName("bring-"+w.Name+"-", time.Now())
	before := time.Since(begin)
	// What the way of a message costs is asked for by name.
	run := []string{"run", "Encode", "--budget", flags.budget.String(), "--out", out}
	whole := false
	for _, name := range []string{"json", "markdown", "wide"} {
		if cmd.Flags().Changed(name) {
			run, whole = append(run, "--"+name), true
		}
	}
	printed := cmd.OutOrStdout()
	if !whole {
		printed = io.Discard
	}
	if err := handOver(cmd, printed, w.Program(), run...); err != nil {
		return err
	}
	if !whole {
		rec, err := record.Load(out)
		if err == nil {
			err = bring.PrintTable(cmd.OutOrStdout(), rec, relative(w.Program()), flags.form.form(cmd))
		}
		if err != nil {
			return err
		}
	}
	if flags.html != "" {
		if err := handOver(cmd, cmd.OutOrStdout(), w.Program(), "show", out, "--html", flags.html); err != nil {
			return err
		}
	}
	say(cmd, "first table after %s: %s up to measuring, %s measuring", seconds(time.Since(begin)), seconds(before), seconds(time.Since(begin)-before))
	return nil
}

// proveBrought has every row of the message prove itself. now is the user's present codec.
func proveBrought(cmd *cobra.Command, w *bring.Workspace, brought *broughtMessage, now string) error {
	if library, _, _ := strings.Cut(now, "/"); now != "" && !strings.Contains(library, "=") {
		now = "codec=" + now
	}
	if err := w.Configure(usermsg.Config{Doc: brought.doc, Baseline: now}, brought.samples); err != nil {
		return err
	}
	begin := time.Now()
	proven, lost, err := w.Prove(cmd.Context())
	if err != nil {
		return err
	}
	if len(proven) == 0 {
		for _, why := range lost {
			return fmt.Errorf("no row can be measured: %s", strings.TrimPrefix(why, "encode: "+brought.name+": "))
		}
	}
	say(cmd, "%d rows proven in %s, %d not possible for these samples", len(proven), seconds(time.Since(begin)), len(lost))
	return haveNow(now, proven, lost)
}

const (
	// toFirstTable is how long the command takes, from its start to the first table.
	toFirstTable = 2 * time.Minute
	// shortestLook is enough for the blocks that intervals need, of the rows of a first look.
	shortestLook = time.Minute
)

// lookAfter is the budget for measuring, after reading, building and proving took so long.
func lookAfter(spent time.Duration) time.Duration {
	return max(toFirstTable-spent, shortestLook).Round(time.Second)
}

// readSchema reads a message of .proto files, or of JSON alone, and its samples.
func readSchema(cmd *cobra.Command, args []string, flags bringFlags) (*broughtMessage, error) {
	var schema *bring.Schema
	var err error
	switch {
	case bring.IsDescriptors(args[0]):
		if len(args) > 1 || len(flags.folders) > 0 {
			return nil, fmt.Errorf("%s is a descriptor set: no other file and no -I goes with it", args[0])
		}
		schema, err = bring.LoadDescriptors(args[0])
	case bring.IsJSON(args[0]):
		if len(args) > 1 {
			return nil, hinted(fmt.Errorf("%s, and more: a schema is made of one file of JSON", args[0]), "put the samples into one file, one after the other")
		}
		schema, err = bring.Infer(args[0], bring.Part(flags.path), flags.typed)
		flags.samples = append([]string{args[0]}, flags.samples...)
	default:
		schema, err = bring.Load(cmd.Context(), args, flags.folders)
	}
	if err != nil {
		return nil, err
	}
	original, err := schema.Message(flags.message)
	if err != nil {
		return nil, err
	}
	normal, err := bring.Normalise(original)
	if err != nil {
		return nil, err
	}
	ignored := ""
	if n := len(schema.Missing); n > 0 {
		ignored = fmt.Sprintf("; %s not there and not needed: %s", words.Counted(n, "import"), strings.Join(schema.Missing, ", "))
	}
	say(cmd, "%s, %s reachable%s", words.Counted(normal.Messages, "message"), words.Counted(normal.Enums, "enum"), ignored)
	for _, note := range schema.Notes {
		say(cmd, "%s", note)
	}
	if flags.typed && !bring.IsJSON(args[0]) {
		return nil, errors.New("--typed is for JSON without a schema")
	}
	if len(flags.samples) == 0 {
		return nil, hinted(fmt.Errorf("%s: a schema needs samples", original.FullName()), "name a file of them with --sample: .json, .ndjson or .binpb")
	}
	samples, err := schema.ReadSamples(flags.samples, bring.Part(flags.path), original, normal)
	if err != nil {
		return nil, err
	}
	doc := fmt.Sprintf("%s of %s", original.FullName(), filepath.Base(args[0]))
	return &broughtMessage{string(original.Name()), string(original.FullName()), doc, samples, func(w *bring.Workspace, bringer usermsg.Maker) (*bring.Built, error) {
		return w.Build(cmd.Context(), bringer, normal)
	}}, nil
}

// readStruct reads a Go struct, and its samples.
func readStruct(cmd *cobra.Command, args []string, flags bringFlags) (*broughtMessage, error) {
	switch {
	case len(args) > 1:
		return nil, fmt.Errorf("%s, and more: name one Go package", args[0])
	case flags.message != "" || len(flags.folders) > 0:
		return nil, errors.New("--message and -I are for .proto files: a Go struct is named by its package and --type")
	}
	st, err := bring.LoadStruct(cmd.Context(), args[0], flags.typ)
	if err != nil {
		return nil, err
	}
	if len(flags.samples) == 0 {
		return nil, hinted(fmt.Errorf("%s.%s: a Go struct needs samples", st.Package, st.Name), "name a file of them with --sample: .json or .ndjson, which encoding/json decodes into the struct")
	}
	samples, err := st.ReadJSON(flags.samples, bring.Part(flags.path))
	if err != nil {
		return nil, err
	}
	return &broughtMessage{st.Called, st.Package + "." + st.Name, st.Package + "." + st.Name, samples, func(w *bring.Workspace, bringer usermsg.Maker) (*bring.Built, error) {
		return w.BuildStruct(cmd.Context(), bringer, st)
	}}, nil
}

// haveNow is an error unless a row of the user's present codec is proven.
func haveNow(now string, proven []string, lost map[string]string) error {
	if now == "" {
		return nil
	}
	is := func(row string) bool { return strings.HasSuffix(row, "/"+now) }
	if slices.ContainsFunc(proven, is) {
		return nil
	}
	for _, row := range slices.Sorted(maps.Keys(lost)) {
		if why := lost[row]; is(row) {
			return fmt.Errorf("--now %s: it cannot be what others are compared with: %s", now, why)
		}
	}
	key, _, _ := strings.Cut(now, "=")
	var names []string
	for _, row := range proven {
		if name := row[strings.LastIndex(row, "/")+1:]; strings.HasPrefix(name, key+"=") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return hinted(fmt.Errorf("--now %s: there is no such contender", now), "there are "+strings.Join(names, ", "))
}

// relative is a path from the current folder, which is shorter.
func relative(path string) string {
	if folder, err := os.Getwd(); err == nil {
		if short, err := filepath.Rel(folder, path); err == nil {
			return short
		}
	}
	return path
}

// handOver runs a program with this one's input, and takes its exit status.
func handOver(cmd *cobra.Command, out io.Writer, program string, arguments ...string) error {
	child := exec.CommandContext(cmd.Context(), program, arguments...)
	child.Stdin, child.Stdout, child.Stderr = cmd.InOrStdin(), out, cmd.ErrOrStderr()
	child.Cancel = func() error { return child.Process.Signal(os.Interrupt) }
	err := child.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exitStatus(exit.ExitCode())
	}
	return err
}

func seconds(d time.Duration) string { return d.Round(100 * time.Millisecond).String() }

// What the proof of one row may take. A row that takes more ends the program and is lost.
const (
	longestProof = time.Minute
	mostOfProof  = 8 << 30 // bytes
)

// watch calls end, with the reason, once a proof takes too long, the program has too much memory, or
// it is told to end.
func watch(ctx context.Context, longest time.Duration, most uint64, end func(why string)) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		late, tick := time.After(longest), time.NewTicker(50*time.Millisecond)
		defer tick.Stop()
		held := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for {
			select {
			case <-done:
				return
			case <-ctx.Done():
				end("interrupted")
				return
			case <-late:
				end(fmt.Sprintf("its proof takes more than %v", longest))
				return
			case <-tick.C:
			}
			if metrics.Read(held); held[0].Value.Uint64() > most {
				end(fmt.Sprintf("its proof takes more than %d MB of memory", most>>20))
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended // before the program's end, which looks like an interrupt
	}
}

// proveCommand has every row prove itself, for `bring`. It writes a line before each row and a line
// with the result.
func (p program) proveCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "prove",
		Short:  "Has every row prove itself (started by bring)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			suites, err := p.suites.made(nil)
			if err != nil {
				return err
			}
			entries := lab.Entries(suites)
			out := json.NewEncoder(cmd.OutOrStdout())
			os.Stdout = os.Stderr
			for _, e := range entries {
				if e.Role == record.RoleControl || e.Case.Value == record.ValueWall {
					continue // rows beside a server prove themselves when they are measured
				}
				line := struct{ Row, Fault string }{e.Row(), e.Contender.NotPossible}
				err := out.Encode(line)
				if line.Fault == "" && err == nil {
					line.Fault = "ok"
					stop := watch(cmd.Context(), longestProof, mostOfProof, func(why string) {
						fmt.Fprintln(os.Stderr, why)
						os.Exit(1)
					})
					if err := prove(cmd, &e.Contender); err != nil {
						line.Fault, _, _ = strings.Cut(err.Error(), "\n")
					}
					stop()
					err = out.Encode(line)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func prove(cmd *cobra.Command, c *lab.Contender) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panics: %v", value)
		}
	}()
	in, err := c.Open(cmd.Context(), lab.Env{Seed: record.DefaultSeed})
	if err != nil {
		return err
	}
	return errors.Join(in.Prove(cmd.Context()), in.Close())
}
