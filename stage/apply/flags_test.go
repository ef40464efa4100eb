package apply

import (
	"slices"
	"strings"
	"testing"

	"postage/internal/service/apiserver"
	"postage/lab"
)

// A first look has only the serializers if the server is not built. Asking for the stage by name
// builds it.
func TestFirstLookWithoutServer(t *testing.T) {
	none := func(apiserver.Kind) bool { return false }
	generic := func(k apiserver.Kind) bool { return k == apiserver.Generic }
	for _, r := range []struct {
		name     string
		server   apiserver.Kind
		patterns []string
		built    func(apiserver.Kind) bool
		resumed  bool
		left     bool
	}{
		{"not built", apiserver.Generic, nil, none, false, true},
		{"built", apiserver.Generic, nil, generic, false, false},
		{"another is built", apiserver.KCP, nil, generic, false, true},
		{"the user's", apiserver.User, nil, none, false, false},
		{"by name", apiserver.Generic, []string{"apply"}, none, false, false},
		{"gone on with", apiserver.Generic, nil, none, true, false},
	} {
		suite := Suite()
		suite.Cases = suite.Made(lab.Choices{"server": {string(r.server)}})
		entries, err := lab.Select([]lab.Suite{suite}, r.patterns)
		if err != nil || len(entries) == 0 {
			t.Fatalf("%d rows, %v", len(entries), err)
		}
		c := &lab.Choice{Entries: entries, Patterns: r.patterns, Resumed: r.resumed}
		flags := serverFlags{built: r.built}
		if err := flags.choose(c); err != nil {
			t.Error(err)
		}
		onServer := func(e lab.Entry) bool { return strings.Contains(e.Case.Name, "/server=") }
		if len(c.Entries) == 0 || slices.ContainsFunc(c.Entries, onServer) == r.left || (c.Note != "") != r.left {
			t.Errorf("%s: %d rows are left, and it says %q", r.name, len(c.Entries), c.Note)
		}
	}
}

// With --kubeconfig the rows are of the user's cluster.
func TestNamedByTheServer(t *testing.T) {
	for kubeconfig, want := range map[string]string{"": "", "x": "user"} {
		flags := serverFlags{kubeconfig: kubeconfig}
		if is, err := flags.server(t.Context()); err != nil || is["server"] != want {
			t.Errorf("--kubeconfig %q: %v, %v", kubeconfig, is, err)
		}
	}
}
