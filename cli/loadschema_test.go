package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// The schema takes what --config takes and nothing else: each flag's default, the example of
// the docs, and no name or value that is wrong.
func TestLoadSchema(t *testing.T) {
	var text bytes.Buffer
	if err := writeLoadSchema(&text, loadCommand().Flags()); err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(&text)
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("load.schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("load.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	docs, err := os.ReadFile("../docs/load.md")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(docs)
	if example == nil {
		t.Fatal("the docs have no example")
	}
	script, err := os.ReadFile("testdata/script/load.txtar")
	if err != nil {
		t.Fatal(err)
	}
	ofScript := regexp.MustCompile("(?s)-- load.yaml --\n(.*?)\n-- ").FindSubmatch(script)
	good := []string{
		string(example[1]), string(ofScript[1]), "rate: max\n", "rate: 0.5\nduration: 1m30s\n", "assert: p99<5ms\n", "header: [\"a: b\", \"c: d\"]\n", "messages: 3\n", "speed: 2.5\n", "insecure: true\n",
	}
	loadCommand().Flags().VisitAll(func(f *pflag.Flag) {
		if value := f.DefValue; !notInConfig[f.Name] && value != "" && value != "[]" {
			good = append(good, f.Name+": "+value+"\n")
		}
	})
	bad := []string{
		"rates: 5\n", "config: x.yaml\n", "rate: fast\n", "rate: 0\n", "duration: 10\n", "duration: soon\n", "proto: spdy\n", "arrivals: often\n", "conns: ten\n",
		"insecure: maybe\n", "rate: [1, 2]\n", "- rate\n", "header: {a: b}\n", "help: true\n",
	}
	for i, text := range append(good, bad...) {
		want := i < len(good)
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if got := schema.Validate(value); (got == nil) != want {
			t.Errorf("the schema, of %q: %v", text, got)
		}
		path := filepath.Join(t.TempDir(), "load.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := loadCommand()
		_, got := readLoadConfig(path, cmd.Flags(), nil)
		if got == nil {
			proto, arrivals := cmd.Flag("proto").Value.String(), cmd.Flag("arrivals").Value.String()
			if strings.HasPrefix(text, "proto: spdy") || strings.HasPrefix(text, "arrivals: often") {
				got = (&loadFlags{proto: proto, arrivals: arrivals, duration: 1, wait: 1, timeout: 1, speed: 1}).check(nil)
			}
		}
		if (got == nil) != want {
			t.Errorf("--config, of %q: %v", text, got)
		}
	}
}
