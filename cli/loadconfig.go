package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// readLoadConfig sets the flags that a YAML file names and the command line does not. It returns
// the arguments, or the file's url if there are none.
func readLoadConfig(path string, flags *pflag.FlagSet, args []string) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(document.Content) == 0 {
		return args, nil
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s:%d: want names of flags with their values, such as rate: 500", path, root.Line)
	}
	for i := 0; i < len(root.Content); i += 2 {
		name, value := root.Content[i], root.Content[i+1]
		values := []*yaml.Node{value}
		if value.Kind == yaml.SequenceNode {
			values = value.Content
		}
		if slices.ContainsFunc(values, func(v *yaml.Node) bool { return v.Kind != yaml.ScalarNode }) {
			return nil, fmt.Errorf("%s:%d: %s: want a value, or a list of values", path, value.Line, name.Value)
		}
		if name.Value == "url" {
			if len(args) == 0 {
				args = []string{value.Value}
			}
			continue
		}
		flag := flags.Lookup(name.Value)
		if flag == nil || notInConfig[name.Value] {
			return nil, fmt.Errorf("%s:%d: there is no flag %q (postage load --help lists them)", path, name.Line, name.Value)
		}
		if flag.Changed {
			continue // what is given on the command line goes before
		}
		if _, many := flag.Value.(pflag.SliceValue); len(values) != 1 && !many {
			return nil, fmt.Errorf("%s:%d: %s takes one value", path, value.Line, name.Value)
		}
		for _, v := range values {
			if err := flags.Set(name.Value, v.Value); err != nil {
				return nil, fmt.Errorf("%s:%d: %s", path, v.Line, strings.TrimPrefix(err.Error(), "invalid argument "))
			}
		}
	}
	return args, nil
}
