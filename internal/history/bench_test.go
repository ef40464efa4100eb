package history

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"postage/internal/proc"
	"postage/internal/recordtest"
	"postage/record"
)

// A history of 10,000 records of 105 rows, which changed at 5 places.
const (
	benchRecords = 10_000
	benchCases   = 15
)

// largeHistory makes it: a first record in the ordinary way, and from its figures the others
// at once.
func largeHistory(b *testing.B, place string) *DB {
	b.Helper()
	started := time.Now()
	db := opened(b, place)
	rng := rand.New(rand.NewPCG(7, 1))
	rec := benchRecord(rng, 0)
	if len(rec.Rows) < 100 {
		b.Fatal(len(rec.Rows))
	}
	added(b, db, rec, "run")
	ctx := context.Background()
	err := db.write(ctx, func(tx *sql.Tx) error {
		for id := 2; id <= benchRecords; id++ {
			_, err := tx.ExecContext(ctx, `INSERT INTO postage_record
				SELECT ?, ?, ?, ?, machine_id, ?, ?, commit_id, seed, go_version, format_version, partial, cases, figures, blocks FROM postage_record WHERE id = 1`,
				id, fmt.Sprintf("run%060d", id), fmt.Sprintf("%064d", id), fmt.Sprintf("run-%d.txt", id), milliseconds(hours(id)), milliseconds(hours(id)))
			if err != nil {
				return err
			}
		}
		for row := 1; row <= len(rec.Rows); row++ {
			for id := 2; id <= benchRecords; id++ {
				ratio := 0.3 * math.Exp(0.02*rng.NormFloat64()+0.05*float64(id*6/benchRecords%3))
				_, err := tx.ExecContext(ctx, `INSERT INTO postage_figure
					SELECT row_id, ?, anchor_id, ?, ?, ?, ?, ?, ?, blocks, allocs, bytes, module, metrics FROM postage_figure WHERE row_id = ? AND record_id = 1`,
					id, ratio, ratio*0.98, ratio*1.02, 1000*ratio, 990*ratio, 1010*ratio, row)
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%d records of %d rows made in %v", benchRecords, len(rec.Rows), time.Since(started).Round(time.Second))
	return db
}

// cpuTime is the processor time that this program has used, 0 if it is not known.
func cpuTime() time.Duration {
	d, _ := proc.CPU()
	return d
}

func hours(n int) time.Time { return time.Date(2026, 1, 1, n, 0, 0, 0, time.UTC) }

// benchRecord is a record of 105 rows with 10 blocks each.
func benchRecord(rng *rand.Rand, hour int) *record.Record {
	run := recordtest.Run{Rand: rng, Cases: benchCases, Blocks: 10}
	rec := run.Record()
	rec.Run.Started = hours(hour)
	return rec
}

// The targets: adding one takes under 100 ms, showing a trend under 200 ms. Open is measured with
// them, as the command opens the history each time. On a busy machine client-cpu-ns/op says more
// than ns/op.
func BenchmarkHistory(b *testing.B) {
	place := newPlace(b)
	db := largeHistory(b, place)
	rows, err := db.Rows(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Run("add", func(b *testing.B) {
		rng := rand.New(rand.NewPCG(rand.Uint64(), 1))
		hour := benchRecords
		cpu := cpuTime()
		making := time.Duration(0) // of the records
		for b.Loop() {
			b.StopTimer()
			before := cpuTime()
			hour++
			rec := benchRecord(rng, hour)
			making += cpuTime() - before
			b.StartTimer()
			db, err := Open(b.Context(), place)
			if err != nil {
				b.Fatal(err)
			}
			if a, err := db.Add(b.Context(), rec, "run"); err != nil || a.Outcome != Added {
				b.Fatal(a, err)
			}
			if err := db.Close(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(cpuTime()-cpu-making)/float64(b.N), "client-cpu-ns/op")
	})
	b.Run("show", func(b *testing.B) {
		i := 0
		cpu := cpuTime()
		for b.Loop() {
			i++
			db, err := OpenExisting(b.Context(), place)
			if err != nil {
				b.Fatal(err)
			}
			trends, err := db.Trend(b.Context(), rows[i%len(rows)])
			if err != nil || len(trends) != 1 || len(trends[0].Points) < benchRecords {
				b.Fatal(len(trends), err)
			}
			if err := db.Close(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(cpuTime()-cpu)/float64(b.N), "client-cpu-ns/op")
	})
}
