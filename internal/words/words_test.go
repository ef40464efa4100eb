package words

import "testing"

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		Counted(1, "batch"): "1 batch", Counted(0, "batch"): "0 batches", Counted(1234567, "row"): "1,234,567 rows", Integer(-1000): "-1,000", Integer(999): "999",
		Abridged("kurz", 4): "kurz", Abridged("länger", 2): "l …",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
