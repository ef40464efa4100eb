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
	"time"

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
	serviceAccount, attach       string
	hostNetwork, worker          bool
}

func (f *fleetFlags) register(flags *pflag.FlagSet) {
	flags.BoolVar(&f.on, "kubernetes", false, "send from several workers, the pods of a Job on Kubernetes (docs/kubernetes.md)")
	flags.IntVar(&f.workers, "workers", 1, "with --kubernetes: how many workers share the rate; --conns and --cpu (1 unless given) are for each")
	flags.StringVar(&f.image, "image", "postage:latest", "with --kubernetes: the container `image`, as docs/Dockerfile makes it")
	flags.StringVar(&f.namespace, "namespace", "", "with --kubernetes: the `namespace` (default the kubeconfig's)")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "with --kubernetes: the `file` that names the cluster (default kubectl's)")
	flags.StringVar(&f.serviceAccount, "service-account", "postage-load", "with --kubernetes: the `account` that workers report with")
	flags.BoolVar(&f.hostNetwork, "host-network", false, "with --kubernetes: workers use their nodes' network, not that of pods")
	flags.StringVar(&f.attach, "attach", "", "gather the results of a `job` that another command started")
	flags.BoolVar(&f.worker, "kubernetes-worker", false, "be one of the workers")
	_ = flags.MarkHidden("kubernetes-worker")
}

// notForWorkers are flags that only the command has. Those in workersFiles name files.
var (
	notForWorkers = []string{
		"kubernetes", "image", "namespace", "kubeconfig", "service-account", "host-network", "attach", "config",
		"json", "hgrm", "assert",
	}
	workersFiles = []string{"body", "targets", "data", "ca", "cert", "key", "proto-file"}
)

// sums is why a fleet has nothing by the second.
const sums = "its workers report what they have counted since the start, not each second"

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
		{f.rate == 0, no("--rate max", "its workers divide a rate among them; give --rate, such as 100"), ""},
		{f.slo != "", no("--slo", "a Job has one rate; run one for each rate to try, with --assert"), ""},
		{f.replay != "", no("--replay", "each worker would send the whole log; give --rate and --targets"), ""},
		{f.csv != "", no("--csv", sums), ""},
		{f.hlog != "", no("--hdr-log", sums+"; --hgrm has the whole distribution"), ""},
		{f.html != "", no("--html", sums), ""},
		{f.prometheus != "", no("--prometheus", sums), ""},
		{f.serverPID != 0 || f.serverMetrics != "", no("--server-pid or --server-metrics", "workers would begin and end apart from what it counts"), ""},
		{f.prometheusWrite != "", no("--prometheus-write", sums), ""},
	})
}

// fleetPlan makes the workers' plan: the command's flags as their configuration file.
func (f *loadFlags) fleetPlan(flags *pflag.FlagSet, args []string) (*fleet.Plan, error) {
	pacer, err := f.pacer()
	if err != nil {
		return nil, err
	}
	requests, lasts := pacer.Span()
	p := &fleet.Plan{
		Load:  fleet.Load{Workers: f.fleet.workers, Rate: requests / lasts.Seconds(), Duration: lasts, Poisson: f.arrivals == "poisson", Patience: f.wait + f.timeout},
		Image: f.fleet.image, ServiceAccount: f.fleet.serviceAccount, HostNetwork: f.fleet.hostNetwork, CPU: 1,
		Files: map[string][]byte{}, Args: []string{"load", "--kubernetes-worker", "--config", fleet.PathOf("load.yaml")},
	}
	if flags.Changed("cpu") {
		p.CPU = f.cpu
	}
	config := map[string]any{"cpu": fmt.Sprint(p.CPU)}
	if len(args) > 0 {
		config["url"] = args[0]
	}
	var failed error
	flags.Visit(func(flag *pflag.Flag) {
		switch many, list := flag.Value.(pflag.SliceValue); {
		case slices.Contains(notForWorkers, flag.Name):
		case slices.Contains(workersFiles, flag.Name):
			path, at := flag.Value.String(), ""
			if flag.Name == "body" {
				var file bool
				if path, file = strings.CutPrefix(path, "@"); !file {
					config[flag.Name] = path
					return
				}
				at = "@"
			}
			text, err := os.ReadFile(path)
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("--%s: %w", flag.Name, err))
			}
			name := flag.Name + filepath.Ext(path)
			p.Files[name], config[flag.Name] = text, at+fleet.PathOf(name)
		case list:
			config[flag.Name] = many.GetSlice()
		default:
			config[flag.Name] = flag.Value.String()
		}
	})
	if failed != nil {
		return nil, failed
	}
	if p.Files["load.yaml"], err = json.Marshal(config); err != nil { // which is YAML too
		return nil, err
	}
	total := 0
	for _, text := range p.Files {
		total += len(text)
	}
	if total > 1<<20 {
		return nil, fmt.Errorf("the workers' files have %d KB together, and a Secret of Kubernetes holds 1024: put them into the image and name them in --config there", total>>10)
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
	say(fmt.Sprintf("the workers' clocks are within %v of this one's", out.Clocks.Round(time.Millisecond)))
	out.Interrupted = out.Interrupted || ctx.Err() != nil
	return f.write(cmd, out.Result, asserts)
}
