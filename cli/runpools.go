package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"postage/internal/pools"
	"postage/internal/report"
	"postage/internal/verdict"
	"postage/lab"
	"postage/record"
)

// poolFlags are the flags of `postage run --kubernetes`.
type poolFlags struct {
	on, hostNetwork, worker bool
	nodes                   []string
	image, namespace        string
}

func (f *poolFlags) register(flags *pflag.FlagSet) {
	flags.BoolVar(&f.on, "kubernetes", false, "measure on several pools of a Kubernetes cluster's nodes at the same time, one Job each, and compare\nthem by ratios (docs/kubernetes.md); --cpu is how many whole processors each has (1 unless given,\n0 for any), and the cluster is kubectl's")
	flags.StringArrayVar(&f.nodes, "nodes", nil, "with --kubernetes: a node `label` whose values are the pools, such as node.kubernetes.io/instance-type,\nor some of them: LABEL=VALUE,VALUE; may be repeated")
	flags.StringVar(&f.image, "image", "postage:latest", "with --kubernetes: the container `image`, as postage kubernetes image makes it")
	flags.StringVar(&f.namespace, "namespace", "", "with --kubernetes: the `namespace` (default the kubeconfig's)")
	flags.BoolVar(&f.hostNetwork, "host-network", false, "with --kubernetes: pods use their nodes' network, not that of pods")
	flags.BoolVar(&f.worker, "in-pod", false, "measure in one of the pods")
	_ = flags.MarkHidden("in-pod")
}

// serverless returns an error if a row needs a server that the image does not have.
func (p program) serverless(entries []lab.Entry) error {
	needs := func(e lab.Entry) bool { return e.Case.Service != nil }
	i := slices.IndexFunc(entries, needs)
	if i < 0 {
		return nil
	}
	var without []string // stages of which no row needs one
	all := lab.Entries(p.suites)
	for _, s := range p.suites {
		if !slices.ContainsFunc(all, func(e lab.Entry) bool { return e.Stage == s.Stage && needs(e) }) {
			without = append(without, s.Stage)
		}
	}
	return hinted(fmt.Errorf("--kubernetes: %s needs a server, and the image has only this program", entries[i].Case.Name),
		"name rows that need none: all of "+strings.Join(without, ", "))
}

// runOnPools measures on several pools of nodes, saves the record of each, and compares them.
func (p program) runOnPools(cmd *cobra.Command, patterns []string, flags runFlags) error {
	f := &flags.pools
	if len(f.nodes) == 0 {
		return hinted(errors.New("--kubernetes needs --nodes: the label that tells the pools apart"), "such as --nodes node.kubernetes.io/instance-type, or --nodes node.kubernetes.io/instance-type=m7i.large,m7g.large")
	}
	other := suiteFlags(cmd, false, func(f *pflag.Flag) string { return "--" + f.Name })
	if other = slices.DeleteFunc(other, func(name string) bool { return name == "--kubeconfig" }); len(other) > 0 {
		return fmt.Errorf("%s cannot be combined with --kubernetes: pods have no servers", strings.Join(other, ", "))
	}
	if _, err := p.entries(); err != nil {
		return err
	}
	entries, err := lab.Select(p.suites, patterns)
	if err == nil {
		err = p.serverless(entries)
	}
	if err != nil {
		return err
	}
	plan := poolPlan(cmd, patterns, &flags)
	kubeconfig := ""
	if flag := cmd.Flags().Lookup("kubeconfig"); flag != nil {
		kubeconfig = flag.Value.String()
	}
	client, err := pools.Open(kubeconfig, f.namespace)
	if err != nil {
		return err
	}
	if plan.Pools, err = client.Pools(cmd.Context(), f.nodes); err != nil {
		return err
	}
	files, err := poolFiles(flags.out, plan.Pools)
	if err != nil {
		return err
	}
	records, failed := runPools(cmd, client, plan, files)
	return p.concludePools(cmd, &flags, plan.Pools, records, failed)
}

// poolPlan is what every pool runs: this command's own flags, in a pod.
func poolPlan(cmd *cobra.Command, patterns []string, flags *runFlags) *pools.Plan {
	f := &flags.pools
	plan := &pools.Plan{Image: f.image, ServiceAccount: "postage-load", CPU: 1, HostNetwork: f.hostNetwork, Budget: flags.budget}
	if cmd.Flags().Changed("cpu") {
		plan.CPU = flags.cpu
	}
	plan.Args = []string{
		"run", "--in-pod", "--out", pools.File, "--budget", flags.budget.String(), "--precision", flags.precision.String(),
		"--seed", strconv.FormatUint(flags.seed, 10), "--cpu", strconv.Itoa(plan.CPU), "--",
	}
	plan.Args = append(plan.Args, patterns...)
	return plan
}

// runPools has all pools carry out the plan, and saves their records in files.
func runPools(cmd *cobra.Command, client *pools.Client, plan *pools.Plan, files []string) (records []*record.Record, failed int) {
	var waiting sync.WaitGroup
	var mutex sync.Mutex // guards failed and standard error
	tell := func(pool pools.Pool, text string) {
		say(cmd, "%s: %s", pool.Name, strings.TrimPrefix(text, "postage: "))
	}
	records = make([]*record.Record, len(files))
	for i, pool := range plan.Pools {
		waiting.Go(func() {
			text, err := client.Run(cmd.Context(), plan, pool, func(text string) {
				mutex.Lock()
				defer mutex.Unlock()
				if !strings.HasSuffix(text, pools.File) { // where the pod has its record
					tell(pool, text)
				}
			})
			mutex.Lock()
			defer mutex.Unlock()
			if text != nil {
				rec, wrong := savePool(files[i], text)
				if wrong == nil {
					records[i] = rec
					tell(pool, "record saved as "+files[i])
				}
				err = errors.Join(err, wrong)
			}
			if err != nil {
				failed++
				tell(pool, err.Error())
			}
		})
	}
	waiting.Wait()
	return records, failed
}

// poolFiles names the file of each pool's record, and makes sure that there is room for it.
func poolFiles(out string, all []pools.Pool) ([]string, error) {
	if out == "" {
		if err := hideRuns(); err != nil {
			return nil, err
		}
		out = newRecordName("", time.Now())
	}
	var files []string
	for _, pool := range all {
		name := strings.TrimSuffix(out, ".txt") + "-" + pool.Name + ".txt"
		if err := record.Reserve(name); err != nil {
			return nil, err
		}
		files = append(files, name)
	}
	return files, nil
}

// savePool saves a record as it came, if it is one.
func savePool(name string, text []byte) (*record.Record, error) {
	rec, err := record.Parse(bytes.NewReader(text), name)
	if err != nil {
		return nil, err
	}
	return rec, record.Replace(name, bytes.NewReader(text))
}

// concludePools prints what there is: several records side by side, one alone as it is, but for
// JSON, whose form does not depend on what came.
func (p program) concludePools(cmd *cobra.Command, flags *runFlags, all []pools.Pool, records []*record.Record, failed int) error {
	var names []string
	var come []*record.Record
	for i, rec := range records {
		if rec != nil {
			names, come = append(names, all[i].Name), append(come, rec)
		}
	}
	var err error
	if len(come) == 1 && !flags.JSON {
		err = p.printRun(cmd, come[0], flags)
	} else if len(come) > 0 {
		err = report.Machines(cmd.OutOrStdout(), verdict.CompareMachines(names, come), flags.form(cmd))
		for _, rec := range come {
			err = errors.Join(err, failedRow(rec))
		}
	}
	switch {
	case cmd.Context().Err() != nil:
		say(cmd, "interrupted; %d of %d pools have a record", len(come), len(all))
		return errors.Join(lab.ErrInterrupted, err)
	case failed > 0 && errors.Is(err, errFailedRow):
		err = nil // a pool that failed is worse
		fallthrough
	case failed > 0:
		return errors.Join(err, fmt.Errorf("%d of %d pools failed: the lines above say why", failed, len(all)))
	}
	return err
}

// runInPod measures as one of the pods, and sends the record, also one that was interrupted.
func (p program) runInPod(cmd *cobra.Command, patterns []string, flags runFlags) error {
	ctx := cmd.Context()
	worker, err := pools.NewWorker(ctx)
	if err != nil {
		return err
	}
	cmd.SetErr(io.MultiWriter(cmd.ErrOrStderr(), worker))
	flags.pools.worker = false
	ran := p.runRun(cmd, patterns, flags)
	text, err := os.ReadFile(flags.out)
	if err != nil { // no record was begun
		return errors.Join(ran, err)
	}
	return worker.Deliver(ctx, text)
}
