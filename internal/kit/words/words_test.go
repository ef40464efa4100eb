package words_test

import (
	"testing"

	"postage/internal/kit/words"
)

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		words.Counted(1, "batch"): "1 batch", words.Counted(0, "batch"): "0 batches", words.Counted(1234567, "row"): "1,234,567 rows", words.Integer(-1000): "-1,000", words.Integer(999): "999",
		words.Abridged("kurz", 4): "kurz", words.Abridged("länger", 2): "l …",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
