package apply

import (
	"context"
	"errors"
	"flag"
	"os"
	"slices"

	"postage/internal/service/apiserver"
	"postage/lab"
	"postage/record"
)

// serverFlags name the user's cluster.
type serverFlags struct {
	kubeconfig, context string
	built               func(apiserver.Kind) bool // apiserver.Built where nil
}

func (f *serverFlags) register(flags *flag.FlagSet) {
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "measure the stage apply on your own cluster, named by this `file`\n(for server=user default POSTAGE_KUBECONFIG; KUBECONFIG is not looked at)")
	flags.StringVar(&f.context, "context", "", "with --kubeconfig: the `context` to take (default its current one)")
}

// server is the user's if a flag names a cluster.
func (f *serverFlags) server(context.Context) (lab.Settings, error) {
	if f.kubeconfig == "" {
		return nil, nil
	}
	return lab.Settings{"server": string(apiserver.User)}, nil
}

// cluster returns the user's cluster: without a flag, the one that POSTAGE_KUBECONFIG and
// POSTAGE_CONTEXT name, or none. kubectl's configuration is not used.
func (f *serverFlags) cluster() (kubeconfig, context string) {
	if f.kubeconfig != "" {
		return f.kubeconfig, f.context
	}
	return os.Getenv("POSTAGE_KUBECONFIG"), os.Getenv("POSTAGE_CONTEXT")
}

// choose leaves the API server out of a first look if it is not built: building it would take
// longer than the first look.
func (f *serverFlags) choose(c *lab.Choice) error {
	if f.context != "" && f.kubeconfig == "" {
		return &lab.Hinted{Err: errors.New("--context " + f.context + " needs a kubeconfig"), Hint: "name its file with --kubeconfig"}
	}
	if c.Resumed || len(c.Patterns) > 0 {
		return nil
	}
	built := f.built
	if built == nil {
		built = apiserver.Built
	}
	unbuilt := func(e lab.Entry) bool {
		server := apiserver.Kind(record.KeysOf(e.Case.Name).Get("server"))
		return server != "" && server != apiserver.User && !built(server)
	}
	if slices.ContainsFunc(c.Entries, unbuilt) {
		c.Entries = slices.DeleteFunc(c.Entries, unbuilt)
		c.Note = "apply: the serializers alone, because its API server is not built: `postage run apply` builds generic, `postage run Apply/server=kcp` builds kcp (about 8 minutes, once)"
	}
	return nil
}
