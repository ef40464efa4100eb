//go:build !benchonly

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"postage/load"
	"postage/load/fleet"
)

// fleetFlags are the flags of `postage load --kubernetes`.
type fleetFlags struct {
	on                           bool
	workers                      int
	image, namespace, kubeconfig string
	attach                       string
	hostNetwork, worker          bool
	share                        string // the file with a worker's command line
}

func (f *fleetFlags) register(flags *pflag.FlagSet) {
	flags.BoolVar(&f.on, "kubernetes", false, "send from several workers, the pods of a Job on Kubernetes (docs/kubernetes.md)")
	flags.IntVar(&f.workers, "workers", 1, "how many share the rate; --conns and --cpu (1 unless given) are for each")
	flags.StringVar(&f.image, "image", "postage:latest", "the container `image`, as docs/Dockerfile makes it")
	flags.StringVar(&f.namespace, "namespace", "", "the `namespace` (default the kubeconfig's)")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "the `file` that names the cluster (default kubectl's)")
	flags.BoolVar(&f.hostNetwork, "host-network", false, "workers use the network of their nodes, not of pods")
	flags.StringVar(&f.attach, "attach", "", "gather the results of a `job` that another command started")
	flags.BoolVar(&f.worker, "kubernetes-worker", false, "be one of the workers")
	flags.StringVar(&f.share, "kubernetes-share", "", "take the command line from this `file`")
	_ = flags.MarkHidden("kubernetes-worker")
	_ = flags.MarkHidden("kubernetes-share")
}

// notForWorkers are flags that only the command has. Those in workersFiles name files.
var (
	notForWorkers = []string{
		"kubernetes", "image", "namespace", "kubeconfig", "host-network", "attach", "json", "assert",
	}
	workersFiles = []string{"body", "targets", "data", "ca", "cert", "key", "proto-file"}
)

// workersAccount is the account that workers report with (docs/kubernetes.md).
const workersAccount = "postage-load"

// checkFleet rejects what a fleet cannot do.
func (f *loadFlags) checkFleet(flags *pflag.FlagSet, args []string) error {
	if f.fleet.attach != "" {
		decided := len(args) > 0
		flags.Visit(func(flag *pflag.Flag) { decided = decided || !slices.Contains(notForWorkers, flag.Name) })
		return refuse([]refusal{{decided, "--attach takes over a Job as it was begun", "leave the URL out, and all flags that say what is sent"}})
	}
	if !f.fleet.on {
		return nil
	}
	no := func(flag, why string) string { return flag + " is not possible with --kubernetes: " + why }
	return refuse([]refusal{
		{f.fleet.workers < 1, "--workers must be at least 1", ""},
		{len(args) == 0 && f.targets == "", "--kubernetes needs a URL: workers do not reach the built-in server", "give the URL of a server that pods reach"},
		{f.rate.max, no("--rate max", "its workers divide a rate among them; give --rate, such as 100"), ""},
		{f.slo != "", no("--slo", "a Job has one rate; run one for each rate to try, with --assert"), ""},
		{f.replay != "", no("--replay", "each worker would send the whole log; give --rate and --targets"), ""},
		{f.csv != "" || f.hlog != "" || f.prometheus != "", no("--csv, --hdr-log or --prometheus", "its workers report what they have counted since the start, not each second"), ""},
		{f.server != "", no("--server", "workers would begin and end apart from what it counts"), ""},
	})
}

// readShare sets a worker's flags, and returns its other arguments.
func readShare(path string, flags *pflag.FlagSet) (args []string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var line []string
	if err := json.Unmarshal(text, &line); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := flags.Parse(line); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return flags.Args(), nil
}

// fleetPlan makes the workers' plan. Their command line is in a file, because a pod's arguments are
// no place for what a header has.
func (f *loadFlags) fleetPlan(flags *pflag.FlagSet, args []string) (*fleet.Plan, error) {
	requests, lasts := f.pacer().Span()
	p := &fleet.Plan{
		Load:  fleet.Load{Workers: f.fleet.workers, Rate: requests / lasts.Seconds(), Duration: lasts, Poisson: f.arrivals == "poisson", Patience: f.wait + f.timeout},
		Image: f.fleet.image, ServiceAccount: workersAccount, HostNetwork: f.fleet.hostNetwork, CPU: 1,
		Files: map[string][]byte{}, Args: []string{"load", "--kubernetes-worker", "--kubernetes-share", fleet.PathOf("line.json")},
	}
	if flags.Changed("cpu") {
		p.CPU = f.cpu
	}
	line := []string{fmt.Sprintf("--cpu=%d", p.CPU)}
	add := func(name, value string) { line = append(line, "--"+name+"="+value) }
	var failed error
	flags.Visit(func(flag *pflag.Flag) {
		switch many, list := flag.Value.(pflag.SliceValue); {
		case slices.Contains(notForWorkers, flag.Name):
		case slices.Contains(workersFiles, flag.Name):
			path, at := flag.Value.String(), ""
			if flag.Name == "body" {
				var file bool
				if path, file = strings.CutPrefix(path, "@"); !file {
					add(flag.Name, path)
					return
				}
				at = "@"
			}
			text, err := os.ReadFile(path)
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("--%s: %w", flag.Name, err))
			}
			name := flag.Name + filepath.Ext(path)
			p.Files[name] = text
			add(flag.Name, at+fleet.PathOf(name))
		case list:
			for _, value := range many.GetSlice() {
				add(flag.Name, value)
			}
		case flag.Name != "cpu":
			add(flag.Name, flag.Value.String())
		}
	})
	if failed != nil {
		return nil, failed
	}
	var err error
	if p.Files["line.json"], err = json.Marshal(append(line, args...)); err != nil {
		return nil, err
	}
	total := 0
	for _, text := range p.Files {
		total += len(text)
	}
	if total > 1<<20 {
		return nil, fmt.Errorf("the workers' files have %d KB together, and a Secret of Kubernetes holds 1024: give smaller ones", total>>10)
	}
	return p, nil
}

// runFleet has a fleet carry out the plan, or takes over from another command.
func (f loadFlags) runFleet(cmd *cobra.Command, args []string, asserts []load.Objective) error {
	ctx := cmd.Context()
	client, err := fleet.Open(f.fleet.kubeconfig, f.fleet.namespace)
	if err != nil {
		return err
	}
	say := func(text string) { say(cmd, "%s", text) }
	job := f.fleet.attach
	if job == "" {
		plan, err := f.fleetPlan(cmd.Flags(), args)
		if err != nil {
			return err
		}
		if job, err = client.Submit(ctx, plan); err != nil {
			return err
		}
		say(fmt.Sprintf("Job %s: if this command ends, postage load --attach %s takes over", job, job))
	}
	out, err := client.Follow(ctx, job, say)
	if ctx.Err() != nil || err == nil {
		err = errors.Join(err, client.Delete(context.WithoutCancel(ctx), job))
	}
	if err != nil {
		return err
	}
	for _, note := range out.Notes {
		say(note)
	}
	out.Interrupted = out.Interrupted || ctx.Err() != nil
	return f.write(cmd, out.Result, asserts)
}
