package bench_test

import (
	"errors"
	"strings"
	"testing"

	"postage/internal/bench"
	"postage/lab"
)

// If the go command lacks a newer Go, a hint says how to get it.
func TestToolchainHint(t *testing.T) {
	for said, want := range map[string]string{
		"go: go.mod requires go >= 1.99 (running go 1.26.8; GOTOOLCHAIN=local)":                                            "set GOTOOLCHAIN=auto, so that the go command downloads Go 1.99, or",
		"go: example.org/m@v1.2.3 requires go >= 1.27rc1 (running go 1.26.8; GOTOOLCHAIN=local)":                           "downloads Go 1.27rc1, or",
		"go: downloading go1.99.0 (linux/amd64)\ngo: download go1.99.0: golang.org/toolchain@v0.0.1: reading: 403":         "Go 1.99.0 could not be downloaded: install it",
		"go: download go1.99 for linux/amd64: toolchain not available":                                                     "Go 1.99 could not be downloaded",
		"go: go.mod requires go >= 1.99 (running go 1.24.1; GOTOOLCHAIN=go1.24.1)":                                         "set GOTOOLCHAIN=auto",
		"go: module . listed in go.work file requires go >= 1.26, but go.work lists go 1.24; to update it:\n\tgo work use": "",
		"go: module example.org/none: reading example.org/none/go.mod: 404":                                                "",
		"go: download example.org/none: 404":                                                                               "",
	} {
		var h *lab.Hinted
		err := new(bench.Variation).Wrap("", errors.New(said))
		if errors.As(err, &h) != (want != "") || h != nil && !strings.Contains(h.Hint, want) || err.Error() != said {
			t.Errorf("%s: %v, %+v", said, err, h)
		}
	}
}
