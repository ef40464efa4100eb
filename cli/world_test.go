package cli

import (
	"strings"
	"testing"

	"postage/lab"
	"postage/record"
)

// A world that cannot be is refused before anything is measured.
func TestWorldsThatCannotBe(t *testing.T) {
	const json = "Encode/msg=tiny/op=encode/codec=json"
	for _, tt := range []struct{ args, says string }{
		{json + " --heap 3", "--heap 3: want a size from 1MB to 64GB, such as 64MB or 1GB"},
		{json + " --heap much", "--heap much: want a size"},
		{json + " --heap 65GiB", "--heap 65GiB: want a size"},
		{json + " --gogc 0", "--gogc 0: must be at least 1"},
		{json + " --cpu -1", "--cpu -1: must be at least 1"},
		{json + " --heap 64GB --gogc 10000", "workers of Encode/msg=tiny/op=encode may grow to "},
		{"Send/proto=grpc --gogc 200", "--heap and --gogc: no row has a cost that depends on them"},
		{"--resume latest --heap 1GB", "--resume takes its settings from the record"},
		{"--resume latest --gogc 200", "--resume takes its settings from the record"},
	} {
		if code, out, stderr := command(append([]string{"run"}, strings.Fields(tt.args)...)...); code != exitUsage || out != "" || !strings.Contains(stderr, tt.says) {
			t.Errorf("%s: exit %d: %s%s", tt.args, code, out, stderr)
		}
	}
}

// A record is of the world that was asked for, with the processors that were; of the default one
// where none was; and of none where no row's quantity is its cost.
func TestRecordsOfWorlds(t *testing.T) {
	plan := func(pattern string) lab.Plan {
		entries, err := lab.Select(postage.suites, []string{pattern})
		if err != nil {
			t.Fatal(err)
		}
		return lab.Plan{Entries: entries}
	}
	asked := record.World{LiveHeap: 1e9, GOGC: 200, Procs: 1}
	for _, tt := range []struct {
		pattern string
		run     record.Run
		want    string
	}{
		{"Encode/msg=tiny", record.Run{}, "16 MB alive, GOGC=100, 1 processor"},
		{"Encode/msg=tiny", record.Run{GOMAXPROCS: 2}, "16 MB alive, GOGC=100, 2 processors"},
		{"Encode/msg=tiny", record.Run{World: &asked}, "1 GB alive, GOGC=200, 1 processor"},
		{"Encode/msg=tiny", record.Run{World: &asked, GOMAXPROCS: 2}, "1 GB alive, GOGC=200, 2 processors"},
		{"Send/proto=grpc", record.Run{}, ""},
	} {
		got := ""
		if world := lab.NewRecord(plan(tt.pattern), tt.run, record.Machine{}).Run.World; world != nil {
			got = world.String()
		}
		if got != tt.want {
			t.Errorf("%s, %+v: %q, want %q", tt.pattern, tt.run, got, tt.want)
		}
	}
	if asked.Procs != 1 {
		t.Errorf("the caller's world was changed: %v", &asked)
	}
}
