package codegen

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// A brought message has the same contenders as the stage's own, in the same order.
func TestBroughtRowsAreTheStages(t *testing.T) {
	text, err := os.ReadFile("../suite.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "return []contender[M]{")
	list, _, _ = strings.Cut(list, "\n\t}\n")
	var want []string
	for line := range strings.Lines(strings.TrimSpace(list)) {
		line = strings.TrimSuffix(strings.TrimSpace(line), ",")
		want = append(want, regexp.MustCompile(`^(\w+)\[[^\]]*\]`).ReplaceAllString(line, "$1"))
	}
	if len(want) < 25 {
		t.Fatalf("only %d contenders were read: %q", len(want), want)
	}
	for i, row := range broughtRows {
		if i >= len(want) || row.code != want[i] {
			t.Errorf("row %d is %s, the stage has %s", i, row.code, want[min(i, len(want)-1)])
		}
	}
	if len(want) != len(broughtRows) {
		t.Errorf("%d rows, the stage has %d", len(broughtRows), len(want))
	}
}
