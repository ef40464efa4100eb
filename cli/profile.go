//go:build !benchonly

package cli

import (
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"postage/internal/feature/profile"
)

// profileFlags are the flags of `postage profile`.
type profileFlags struct {
	formFlags
	seconds   int
	sending   loadFlags // header, insecure, ca, cert and key
	owners    string
	main      string
	label     string
	with      string
	size      float64
	anyFormat bool
	corePrice float64
}

func profileCommand() *cobra.Command {
	var f profileFlags
	cmd := &cobra.Command{
		Use:   "profile URL|FILE...",
		Short: "Where a service spends on messages, and what a change would save",
		Long: `Reads profiles of a service: of CPU time and, to share out the garbage, of allocations. They are files in pprof's
format, or URLs of servers with net/http/pprof, whose profiles are taken at the same time. Several of each, of many replicas, are added up.

Each sample belongs to the nearest caller that is not a helper, such as runtime or strings: a library, or your own code, also where a library calls it back.
What a change would save is that share times a measured ratio: of --with, or else of a table that comes with postage. Nothing leaves this machine.`,
		Example: `  postage profile http://localhost:6060 --seconds 30
  postage profile cpu.pprof allocs.pprof --any-format
  postage profile cpu.pprof --with .postage/runs/latest`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runProfile(cmd, args, &f) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"pprof", "pb.gz", "pgo"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.seconds, "seconds", 30, "how many `seconds` to profile servers")
	f.sending.registerTrust(flags)
	flags.StringVar(&f.owners, "owners", "", "`file` with further libraries, a line each: path, stage, operation (docs/profile.md)")
	flags.StringVar(&f.main, "main", "", "`path` of your own module (default: what the profiled program says, if it is on this machine)")
	flags.StringVar(&f.label, "label", "", "only the CPU time of samples with this `label`, such as endpoint=/render")
	flags.StringVar(&f.with, "with", "", "`record` to take ratios from: postage bring makes one of your own message")
	flags.Float64Var(&f.size, "size", 0, "how many `bytes` a message has, uncompressed: ratios are then of messages of about that size")
	flags.BoolVar(&f.anyFormat, "any-format", false, "also what changes the bytes on the wire")
	flags.Float64Var(&f.corePrice, "core-price", profile.DefaultCorePrice, "`USD` that a core costs an hour")
	f.register(cmd)
	return cmd
}

func runProfile(cmd *cobra.Command, args []string, f *profileFlags) error {
	switch {
	case f.seconds < 1:
		return errors.New("--seconds: want at least 1")
	case f.label != "" && !strings.Contains(f.label, "="):
		return fmt.Errorf("--label %s: want a name and a value, such as endpoint=/render", f.label)
	case !(f.corePrice >= 0):
		return fmt.Errorf("--core-price %v: must not be less than 0", f.corePrice)
	case !(f.size >= 0) || f.size > 0 && f.with != "":
		return fmt.Errorf("--size %v: must not be less than 0, and does not go with --with, which has your own message", f.size)
	}
	table, err := profile.NewOwners()
	if err != nil {
		return err
	}
	if f.owners != "" {
		text, err := os.ReadFile(f.owners)
		if err == nil {
			err = table.Add(f.owners, bytes.NewReader(text))
		}
		if err != nil {
			return fmt.Errorf("--owners: %w", err)
		}
	}
	s, err := f.summary(cmd, table, args)
	if err != nil {
		return err
	}
	costs, err := f.costs()
	if err != nil {
		return err
	}
	s.Predict(table, costs, f.anyFormat, f.corePrice)
	for i := range s.Sites {
		s.Sites[i].Checks = checksOf(&s.Sites[i])
	}
	return profile.Print(cmd.OutOrStdout(), s, f.form(cmd))
}

// summary reads the profiles from files and servers, and adds them up.
func (f *profileFlags) summary(cmd *cobra.Command, table *profile.Owners, names []string) (*profile.Summary, error) {
	sources, urls := []*profile.Source{}, []string{}
	for _, name := range names {
		if strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://") {
			urls = append(urls, name)
			continue
		}
		file, err := os.Open(name)
		if err != nil && strings.Contains(name, ":") {
			return nil, hinted(err, "a server's URL begins with http:// or https://")
		} else if err != nil {
			return nil, err
		}
		source, err := profile.Read(name, file)
		_ = file.Close()
		if err != nil {
			return nil, err
		}
		sources = append(sources, source)
	}
	if len(urls) > 0 {
		fetched, err := f.fetch(cmd, urls)
		if err != nil {
			return nil, err
		}
		sources = append(sources, fetched...)
	}
	table.Main = f.main
	for _, source := range sources {
		if info, err := buildinfo.ReadFile(source.Program()); err == nil && f.main == "" {
			table.Main = info.Main.Path
		}
		if f.label != "" && source.Kind == profile.CPU {
			if err := source.Labelled(f.label); err != nil {
				return nil, err
			}
		}
	}
	if f.label != "" { // allocations have no labels
		sources = slices.DeleteFunc(sources, func(s *profile.Source) bool { return s.Kind == profile.Allocations })
	}
	return profile.Summarize(table, sources)
}

// fetch takes the profiles of servers, all at the same time.
func (f *profileFlags) fetch(cmd *cobra.Command, names []string) ([]*profile.Source, error) {
	target, err := f.sending.bareTarget()
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = target.TLS
	client := &http.Client{Transport: transport}
	longest := secondsOf(names, f.seconds)
	patience := time.Duration(longest)*time.Second + time.Minute
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), patience, fmt.Errorf("no answer within %v", patience))
	defer cancel()
	var wanted []string
	for _, name := range names {
		u, err := url.Parse(name)
		if err != nil {
			return nil, err
		}
		root, kind, _ := strings.Cut(u.Path+"/", "/debug/pprof/")
		if strings.Trim(kind, "/") != "" || strings.HasSuffix(u.Path, ".pprof") {
			wanted = append(wanted, name)
			continue
		}
		u.Path = root
		for _, kind := range []string{"profile", "allocs"} {
			one := u.JoinPath("debug/pprof", kind)
			one.RawQuery = fmt.Sprintf("seconds=%d", f.seconds)
			wanted = append(wanted, one.String())
		}
	}
	say(cmd, "profiling for %d seconds", longest)
	found, failed := make([]*profile.Source, len(wanted)), make(chan error)
	for i, name := range wanted {
		go func() {
			var err error
			found[i], err = fetchProfile(ctx, client, name, target.Request.Header)
			failed <- err
		}()
	}
	for range wanted {
		if one := <-failed; one != nil && err == nil {
			err = one
			cancel()
		}
	}
	return found, err
}

// secondsOf is how many seconds the longest profile takes, at least least: a URL may ask for more.
func secondsOf(names []string, least int) int {
	for _, name := range names {
		if u, err := url.Parse(name); err == nil {
			seconds, _ := strconv.Atoi(u.Query().Get("seconds"))
			least = max(least, seconds)
		}
	}
	return least
}

// get sends a request with the fields of --header, and returns an error unless the status is 200.
func get(ctx context.Context, client *http.Client, name string, header http.Header) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, name, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header, request.Host = header.Clone(), cmp.Or(header.Get("Host"), request.Host)
	response, err := client.Do(request)
	if err == nil && response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 200))
		_ = response.Body.Close()
		line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
		if err = fmt.Errorf("%s: %s: %.80q", request.URL.Redacted(), response.Status, line); response.StatusCode == http.StatusNotFound {
			err = hinted(err, "the server must import net/http/pprof; if it serves its profiles elsewhere, give their own URLs")
		}
	}
	return response, err
}

func fetchProfile(ctx context.Context, client *http.Client, name string, header http.Header) (*profile.Source, error) {
	response, err := get(ctx, client, name, header)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return profile.Read(response.Request.URL.Redacted(), response.Body)
}

// costs returns where ratios are taken from: the named record, or else the shipped table.
func (f *profileFlags) costs() (*profile.Costs, error) {
	if f.with == "" {
		return profile.ShippedCosts(f.size)
	}
	rec, err := loadRun(f.with)
	if err != nil {
		return nil, err
	}
	costs := profile.CostsOf(rec, f.with)
	if costs.None() {
		return nil, hinted(fmt.Errorf("--with %s: it has no rows that encode, decode, store or serialize", f.with), "without --with, ratios are of the table that Postage has")
	}
	return costs, nil
}

// checksOf returns the commands that check a site's savings: with the message's schema, if the
// module has it, or its Go type, and with the package's benchmarks, if it has any.
func checksOf(site *profile.Site) (commands []string) {
	if len(site.Savings) == 0 {
		return nil
	}
	place := site.Package
	if place == "main" {
		place = filepath.Dir(site.File)
	}
	if schema := schemaOf(site.File, site.Message); schema != "" {
		commands = append(commands, fmt.Sprintf("postage bring %s --message %s --sample FILE", schema, site.Message))
	} else if site.Package == "main" && site.OfStructs() { // whose types no other program can use
		commands = append(commands, "postage bring SAMPLES.ndjson --now "+strings.TrimPrefix(site.Now, "codec="))
	} else if place != "" && site.OfStructs() {
		commands = append(commands, fmt.Sprintf("postage bring %s --type TYPE --sample FILE", place))
	}
	if place != "" && hasBenchmarks(filepath.Dir(site.File)) {
		commands = append(commands, "postage bench "+place)
	}
	return commands
}

// hasBenchmarks reports whether a folder's tests have a benchmark.
func hasBenchmarks(folder string) bool {
	files, _ := filepath.Glob(filepath.Join(folder, "*_test.go"))
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && bytes.Contains(text, []byte("\nfunc Benchmark"))
	})
}

// mostFiles is how many of a module's files are searched for a schema.
const mostFiles = 20_000

// schemaOf finds the schema that declares a message in a source file's module, "" if there is none.
func schemaOf(source, message string) (schema string) {
	root := filepath.Dir(source)
	for up := ""; ; root = up {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		if up = filepath.Dir(root); up == root {
			return ""
		}
	}
	declares := regexp.MustCompile(`(?m)^\s*message\s+` + regexp.QuoteMeta(message) + `\s*\{`)
	files := 0
	_ = filepath.WalkDir(root, func(path string, file fs.DirEntry, err error) error {
		if files++; err != nil || message == "" || files > mostFiles {
			return fs.SkipAll
		}
		if file.IsDir() && path != root && (file.Name() == "vendor" || file.Name()[0] == '.') {
			return fs.SkipDir
		}
		if filepath.Ext(path) == ".proto" && file.Type().IsRegular() {
			if text, err := os.ReadFile(path); err == nil && declares.Match(text) {
				schema = path
				return fs.SkipAll
			}
		}
		return nil
	})
	return schema
}
