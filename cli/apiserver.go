package cli

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"postage/lab"
	"postage/service/apiserver"
	"postage/stage/apply"
)

// apiserverFlags say which API server the stage apply talks to.
type apiserverFlags struct {
	kind, kubeconfig, context string
}

func (f *apiserverFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.kind, "apiserver", "", "the API server of the stage apply: generic (default) or kcp, which are built the first time")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "measure the stage apply on a cluster of yours, which this `file` names\n(for rows of server=user default POSTAGE_KUBECONFIG; KUBECONFIG is not looked at)")
	flags.StringVar(&f.context, "context", "", "with --kubeconfig: the `context` to take (default its current one)")
}

func (f *apiserverFlags) check() error {
	switch {
	case f.kind != "" && f.kubeconfig != "":
		return hinted{fmt.Errorf("--apiserver %s and --kubeconfig name two servers", f.kind), "leave out one of the two"}
	case f.context != "" && f.kubeconfig == "":
		return hinted{fmt.Errorf("--context %s: of which kubeconfig?", f.context), "give --kubeconfig too"}
	case f.kind != "" && f.kind != string(apiserver.Generic) && f.kind != string(apiserver.KCP):
		return hinted{fmt.Errorf("--apiserver %q: there is no such server", f.kind), "want generic or kcp; --kubeconfig measures on a cluster of yours"}
	}
	return nil
}

// server is the kind that is asked for, the default if none is.
func (f *apiserverFlags) server() apiserver.Kind {
	switch {
	case f.kubeconfig != "":
		return apiserver.User
	case f.kind != "":
		return apiserver.Kind(f.kind)
	}
	return apiserver.Generic
}

// withCluster hands on which cluster of the user's is meant.
func (f *apiserverFlags) withCluster(ctx context.Context) context.Context {
	if f.kubeconfig == "" {
		return ctx
	}
	return apply.WithCluster(ctx, apply.Cluster{Kubeconfig: f.kubeconfig, Context: f.context})
}

// serverPart is what the names of cases on an API server have in them.
const serverPart = "/server="

// namesServer finds the key server in a pattern: server=kcp, server!=generic, or /server:kcp in benchstat's syntax.
var namesServer = regexp.MustCompile(`(^|[^a-z])server(!?=|:)`)

// chosen leaves out the cases of the API servers that are not asked for. Who names one in a pattern has asked for it.
func (f *apiserverFlags) chosen(entries []lab.Entry, patterns []string) ([]lab.Entry, error) {
	if *f == (apiserverFlags{}) && slices.ContainsFunc(patterns, namesServer.MatchString) {
		return entries, nil
	}
	mine := serverPart + string(f.server()) + "/"
	kept := slices.DeleteFunc(slices.Clone(entries), func(e lab.Entry) bool {
		return strings.Contains(e.Case.Name, serverPart) && !strings.Contains(e.Case.Name, mine)
	})
	if len(kept) == 0 {
		return nil, fmt.Errorf("the patterns match rows of other API servers than %s, which is asked for", f.server())
	}
	return kept, nil
}

// withoutUnbuilt leaves the stage out of a first look if its server is not built, which would take longer than the look;
// left says whether it did.
func (f *apiserverFlags) withoutUnbuilt(entries []lab.Entry, patterns []string, built func(apiserver.Kind) bool) (kept []lab.Entry, left bool) {
	server := f.server()
	if len(patterns) > 0 || server == apiserver.User || built(server) {
		return entries, false
	}
	kept = slices.DeleteFunc(slices.Clone(entries), func(e lab.Entry) bool { return e.Stage == applyStage })
	return kept, len(kept) < len(entries)
}

const applyStage = "apply"

// unbuiltText says how to have the stage.
const unbuiltText = "postage: the stage apply is left out, as its API server is not built: `postage run apply` builds generic, `postage run apply --apiserver kcp` builds kcp (about 8 minutes, once)"

// clusterAgain is what to give once more to resume a run: which cluster of the user's it is on, the record does not say.
func clusterAgain(cmd *cobra.Command) string {
	var text string
	for _, name := range []string{"kubeconfig", "context"} {
		if f := cmd.Flag(name); f != nil && f.Changed {
			text += " --" + name + " " + f.Value.String()
		}
	}
	return text
}
