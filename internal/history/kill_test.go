package history

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// beAdder makes the test program add records to the history named by it until it is killed.
const beAdder = "POSTAGE_TEST_HISTORY_ADD"

// addUntilKilled adds records and says of each, on standard output, that it was added.
func addUntilKilled(place string) int {
	ctx := context.Background()
	db, err := Open(ctx, place)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	rng := rand.New(rand.NewPCG(rand.Uint64(), 1))
	for i := 0; ; i++ {
		name := fmt.Sprintf("%d-%d", os.Getpid(), i)
		if _, err := db.Add(ctx, recordOf(rng, 2, i, nil), name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println(name)
	}
}

// A program that is killed in the middle of adding loses nothing that it had acknowledged,
// and leaves the database whole, wherever it was.
func TestKilledWhileAdding(t *testing.T) {
	place := newPlace(t)
	opened(t, place) // so that none is killed before its first record for making tables
	rng := rand.New(rand.NewPCG(rand.Uint64(), 1))
	var acknowledged []string
	const rounds = 8
	for range rounds {
		acknowledged = append(acknowledged, killedAdder(t, place, rng)...)
	}
	db := opened(t, place)
	entries, err := db.Records(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stored := map[string]bool{}
	for _, e := range entries {
		stored[e.Name] = true
	}
	for _, name := range acknowledged {
		if !stored[name] {
			t.Errorf("%s was acknowledged and is not there", name)
		}
	}
	// Of each killed program at most the one that it was about to acknowledge is there too.
	if more := len(entries) - len(acknowledged); more < 0 || more > rounds {
		t.Errorf("%d records, %d acknowledged", len(entries), len(acknowledged))
	}
	var figures int
	if err := db.db.QueryRow("SELECT count(*) FROM postage_figure").Scan(&figures); err != nil || figures != 7*len(entries) {
		t.Errorf("%d figures of %d records: %v", figures, len(entries), err)
	}
	var found string
	if err := db.db.QueryRow("PRAGMA integrity_check").Scan(&found); err != nil || found != "ok" {
		t.Errorf("integrity: %s %v", found, err)
	}
	t.Logf("%d records acknowledged, %d there", len(acknowledged), len(entries))
}

// killedAdder starts a program that adds records, kills it at some moment, and returns what
// it had acknowledged.
func killedAdder(t *testing.T, place string, rng *rand.Rand) []string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), beAdder+"="+place)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// Killed some moments after so many acknowledgements: within an addition, most likely.
	after, moments := 1+rng.IntN(12), time.Duration(rng.IntN(20_000))*time.Microsecond
	var names []string
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		names = append(names, lines.Text())
		if len(names) == after {
			time.AfterFunc(moments, func() { _ = cmd.Process.Kill() })
		}
	}
	if err := cmd.Wait(); err == nil || len(names) < after || stderr.Len() > 0 {
		t.Fatalf("it was not killed but ended by itself: %v %s", err, stderr.String())
	}
	return names
}

// The settings that the promise rests on are those of each connection.
func TestSQLiteSettings(t *testing.T) {
	db := opened(t, filepath.Join(t.TempDir(), "history.db"))
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1"} {
		for range 3 {
			conn, err := db.db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			var got string
			if err := conn.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
				t.Errorf("%s is %s, want %s (%v)", pragma, got, want, err)
			}
		}
	}
}
