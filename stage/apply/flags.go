package apply

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"postage/internal/service/apiserver"
	"postage/lab"
)

// serverFlags select the API server of a run.
type serverFlags struct {
	kind, kubeconfig, context string
	built                     func(apiserver.Kind) bool // apiserver.Built where nil
}

func (f *serverFlags) register(flags *flag.FlagSet) {
	flags.StringVar(&f.kind, "apiserver", "", "the API `server` of the stage apply: generic (default), kcp or kubernetes, which are built the first time")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "measure the stage apply on your own cluster, named by this `file`\n(for rows of server=user default POSTAGE_KUBECONFIG; KUBECONFIG is not looked at)")
	flags.StringVar(&f.context, "context", "", "with --kubeconfig: the `context` to take (default its current one)")
}

func (f *serverFlags) check() error {
	switch {
	case f.kind != "" && f.kubeconfig != "":
		return &lab.Hinted{Err: fmt.Errorf("--apiserver %s and --kubeconfig name two servers", f.kind), Hint: "leave out one of the two"}
	case f.context != "" && f.kubeconfig == "":
		return &lab.Hinted{Err: fmt.Errorf("--context %s needs a kubeconfig", f.context), Hint: "name its file with --kubeconfig"}
	case f.kind != "" && !slices.Contains([]apiserver.Kind{apiserver.Generic, apiserver.KCP, apiserver.Kubernetes}, apiserver.Kind(f.kind)):
		return &lab.Hinted{Err: fmt.Errorf("--apiserver %q: there is no such server", f.kind), Hint: "want generic, kcp or kubernetes; --kubeconfig measures on your own cluster"}
	}
	return nil
}

// server returns the kind of server that is asked for, by default generic.
func (f *serverFlags) server() apiserver.Kind {
	switch {
	case f.kubeconfig != "":
		return apiserver.User
	case f.kind != "":
		return apiserver.Kind(f.kind)
	}
	return apiserver.Generic
}

// cluster returns the user's cluster: without a flag, the one that POSTAGE_KUBECONFIG and
// POSTAGE_CONTEXT name, or none. kubectl's configuration is not used.
func (f *serverFlags) cluster() (kubeconfig, context string) {
	if f.kubeconfig != "" {
		return f.kubeconfig, f.context
	}
	return os.Getenv("POSTAGE_KUBECONFIG"), os.Getenv("POSTAGE_CONTEXT")
}

// serverPart is the server's key in the names of cases on an API server.
const serverPart = "/server="

// namesServer finds the key server in a pattern: server=kcp, server!=generic, or /server:kcp in
// benchstat's syntax.
var namesServer = regexp.MustCompile(`(^|[^a-z])server(!?=|:)`)

// choose leaves out the cases of API servers that are not asked for. A pattern that names a server
// asks for it.
func (f *serverFlags) choose(c *lab.Choice) error {
	if err := f.check(); err != nil || c.Resumed {
		return err
	}
	served := func(e lab.Entry) bool { return strings.Contains(e.Case.Name, serverPart) }
	built := f.built
	if built == nil {
		built = apiserver.Built
	}
	if len(c.Entries) > 0 && len(c.Patterns) == 0 && f.server() != apiserver.User && !built(f.server()) {
		// Building it would take longer than the first look.
		c.Entries = slices.DeleteFunc(c.Entries, served)
		c.Note = "apply: the serializers alone, because its API server is not built: `postage run apply` builds generic, `postage run apply --apiserver kcp` builds kcp (about 8 minutes, once)"
		return nil
	}
	if f.kind == "" && f.kubeconfig == "" && slices.ContainsFunc(c.Patterns, namesServer.MatchString) {
		return nil
	}
	mine := func(e lab.Entry) bool { return strings.Contains(e.Case.Name, serverPart+string(f.server())+"/") }
	asked := slices.ContainsFunc(c.Entries, served)
	c.Entries = slices.DeleteFunc(c.Entries, func(e lab.Entry) bool { return served(e) && !mine(e) })
	switch {
	case !asked || slices.ContainsFunc(c.Entries, mine):
	case len(c.Patterns) == 0:
		c.Note = fmt.Sprintf("the first look has no row of the API server %s: `postage run apply` with this flag measures them", f.server())
	case len(c.Entries) == 0:
		return fmt.Errorf("the patterns match only rows of other API servers than %s, which the flags ask for", f.server())
	}
	return nil
}
