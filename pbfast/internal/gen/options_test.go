package gen

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/types/pluginpb"
)

// An invalid name, or one that is in no file, is refused.
func TestOptionsNameSomething(t *testing.T) {
	var o Options
	for parameter, name := range map[string]string{"own": "no name", "alias": "", "reuse": "a..b"} {
		if err := o.Set(parameter, name); err == nil || !strings.Contains(err.Error(), "full name") {
			t.Errorf("%s=%s: error %v", parameter, name, err)
		}
	}
	if err := o.Set("own", "a.B.c"); err != nil {
		t.Fatal(err)
	}
	if err := o.Set("alias", "a.B.c"); err == nil || !strings.Contains(err.Error(), "two of") {
		t.Errorf("own and alias at once: error %v", err)
	}
	plugin, err := protogen.Options{}.New(new(pluginpb.CodeGeneratorRequest))
	if err != nil {
		t.Fatal(err)
	}
	for parameter, name := range map[string]string{"own": "a.B.c", "reuse": "a.B"} {
		var o Options
		if err := o.Set(parameter, name); err != nil {
			t.Fatal(err)
		}
		if _, err := Run(plugin, o); err == nil || !strings.Contains(err.Error(), "no message") {
			t.Errorf("%s=%s: error %v", parameter, name, err)
		}
	}
}
