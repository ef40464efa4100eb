package bring

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"postage/internal/kit/report"
	"postage/internal/test/recordtest"
)

// A record of a brought message is one table, without controls and floors.
func TestPrintTable(t *testing.T) {
	made := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 10}
	rec := made.Record()
	for i := range rec.Rows {
		if row := &rec.Rows[i]; row.Contender == "codec=d" {
			row.Proof = "not possible: it loses values"
		}
	}
	var out bytes.Buffer
	if err := PrintTable(&out, rec, "mine/postage", report.Form{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Instead of base, in ns", "In other formats:", "d: not possible: it loses values", "Next: postage show", "mine/postage run op=encode-kept"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in it:\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "control") || strings.Contains(out.String(), "memcpy") {
		t.Errorf("it has rows that nobody can use:\n%s", &out)
	}
}
