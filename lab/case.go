package lab

import (
	"context"
	"flag"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"postage/internal/sys/proc"
	"postage/internal/usermsg"
	"postage/internal/verdict"
	"postage/record"
)

// Suite is what a stage gives the instrument: its cases, with their contenders.
type Suite struct {
	Stage string // "encode": what the JSON calls the stage; row names begin with it, capitalised
	Doc   string // the question the stage answers, one sentence
	Cases []Case
	// Options are settings that refine the cases. With Make they take the place of Cases: it makes
	// the cases for one value of each option, whenever they are needed. Both are optional.
	Options []Option
	Make    func(Settings) []Case
	// Server says what the server is that the user has named, as values of options: of a database
	// over TCP, "transport" is "tcp". Rows on it are named by that. If none is named there are no
	// values. Optional.
	Server func(context.Context) (Settings, error)
	// Figures describe the stage's figures, for reports. Optional.
	Figures verdict.Figures

	// Flags adds the suite's flags to a run's. The suite keeps their values, which are set before
	// anything else of it is called. Optional.
	Flags func(*flag.FlagSet)
	// Choose looks at what a run is about to measure of the suite. Optional.
	Choose func(*Choice) error
	// Servers are what its contenders run in processes of their own, by the names that they
	// start them by with [StartServer]. Optional.
	Servers map[string]proc.Server
	// Bring makes code that measures a user's own message by the suite's contenders. Optional.
	Bring usermsg.Maker
	// Brought says that the cases are of a user's message, in the program that was built for it.
	Brought bool
}

// Stages are what the suites say of their figures.
func Stages(suites []Suite) []verdict.Stage {
	var stages []verdict.Stage
	for i := range suites {
		stages = append(stages, verdict.Stage{Name: suites[i].Stage, Figures: suites[i].Figures})
	}
	return stages
}

// Choice is what a run is about to measure of a suite. An error ends the run before anything
// is measured.
type Choice struct {
	Entries  []Entry       // the suite's; it may leave some out
	Patterns []string      // which selected them, none for a first look
	Budget   time.Duration // of the run, 0 if it does not matter
	Resumed  bool          // the run is resumed: none of the entries may be left out
	Note     string        // what to tell the user, set by the suite
}

// Needs is a budget, in half minutes, for an interval of each row, with a third more.
func (c *Choice) Needs() time.Duration {
	return (needed(goals[0], byCase(c.Entries)...) * 4 / 3).Truncate(30*time.Second) + 30*time.Second
}

// Case is one piece of work that its contenders do alike.
type Case struct {
	// Name is made of the stage, capitalised, and key=value parts:
	// "Encode/msg=benchmark/op=decode".
	Name string
	// Doc is the question that the case answers, one sentence.
	Doc string
	// Headline cases are what `postage run` measures when it is asked for nothing in particular.
	Headline bool
	// First names the contenders and floors that a first look measures of a headline case beside
	// its baseline and control. Without any it measures all.
	First []string
	// Batch is about how long a batch takes that cannot be short: plans and patience hang on it.
	Batch time.Duration
	// Value is the quantity that its contenders are compared by: ValueCost unless it is set. A case
	// whose contenders wait, for another process or for goroutines of their own, has ValueWall.
	Value record.Value
	// Service is a server that the case needs, shared by its workers, nil if it needs none.
	Service *Service
	// Baseline names the contender that the others are compared with.
	Baseline   string
	Contenders []Contender
}

// Contender is one way to do a case: a library and its settings.
type Contender struct {
	// Name is made of key=value parts, the library first, then the settings that a
	// reader must know to judge the row: "codec=sonic/config=std". With the case's
	// name before it, it is the row's name.
	Name  string
	Floor bool
	// OwnFloor names the floor of the case that bounds this contender, where they do
	// not all have one and the same. Without it, the case's fastest floor is meant.
	OwnFloor string
	// Module is the path of the Go module that does the work, "" for the standard
	// library and for Postage's own code. Its version is read from the build.
	Module string
	// Settings completes what Name says, for readers of the record.
	Settings map[string]string
	// Checks says in a sentence what Prove checks.
	Checks string
	// Properties are facts that are not speed, verified by the proof, shown by
	// `postage list`: {"corrupted-input": "error"}.
	Properties map[string]string
	// NotPossible, where set, is the reason why this row cannot exist ("RFC 9001:
	// QUIC has no cleartext"). It is printed in place of figures and Open is not called.
	NotPossible string
	// Open does all set-up. It runs in a process of its own, once a block.
	Open func(ctx context.Context, env Env) (Instance, error)
	// Start, where set, takes the place of Open: it starts another program that does the work and
	// measures it itself, once a block, in one of the function layouts of the entry's build, from
	// 0.
	Start func(ctx context.Context, layout int) (Runner, error)
}

// Runner is a program that does a contender's work in place of the worker and measures its own
// batches. Its methods are called one at a time; their contexts end when the call has taken too
// long.
type Runner interface {
	// Open waits until the program can run batches. It is called first.
	Open(ctx context.Context) error
	// Batch runs n operations.
	Batch(ctx context.Context, n int) (*Batch, error)
	// Collect collects the program's garbage and allocates a part, from 0 to 1, of what its heap
	// has room for then.
	Collect(ctx context.Context, part float64) error
	// Close has the program end. It returns what is to be told of the row, nil for nothing.
	Close(ctx context.Context) (warnings []string, err error)
	// Kill makes sure that the program is gone. It may be called at any time, and twice.
	Kill()
}

// Env is what the instrument gives a contender to set itself up with.
type Env struct {
	// Seed is the run's seed. Inputs that are drawn at random are drawn from it, so
	// that all contenders of a run work on the same ones.
	Seed uint64
}

// Instance is a contender that is set up and ready to work.
type Instance interface {
	// Prove checks, untimed and before anything is timed, that Run does the case's
	// work and does it right. Its error is printed in place of the row's figures.
	Prove(ctx context.Context) error
	// Run does n operations and returns the first error. It is the timed region:
	// nothing in it belongs to the instrument.
	Run(n int) error
	// Close releases what Open took, goroutines included.
	Close() error
}

// Metered is an Instance with figures that do not depend on how long it runs, such
// as {"encoded-bytes": 391}. They are read once, after the proof.
type Metered interface {
	Metrics() map[string]float64
}

// Counted is an Instance with counters that grow as it runs, such as bytes sent. They are read
// before and after each batch, untimed; the difference is divided by the batch's operations.
type Counted interface {
	Counters() (map[string]float64, error)
}

// Prepared is an Instance that needs something done before each batch, untimed, such as
// emptying the table that it fills. Before a batch of n operations it is done once.
type Prepared interface {
	Prepare() error
}

// Sized is an Instance whose batches must not be smaller than so many operations,
// whatever time they take, such as one that spreads them over goroutines.
type Sized interface {
	MinOps() int
}

// Distributed is an Instance that keeps how long each of its operations took, for
// stages whose tails matter. The record keeps the distribution of a block's batches.
type Distributed interface {
	// Latencies returns the latencies in nanoseconds of the operations since it was
	// called last, and forgets them.
	Latencies() *hdrhistogram.Histogram
}
