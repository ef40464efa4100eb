package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/linker"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"postage/internal/feature/bring"
	"postage/stage/encode/codegen"
)

// publishedFiles define the messages of the samples in stage/encode/schema/published. Envoy and
// OpenTelemetry publish descriptors in Go code, which tools/published writes, and Kubernetes its
// .proto files.
var publishedFiles = []string{
	"opentelemetry/proto/collector/trace/v1/trace_service.proto",
	"envoy/config/cluster/v3/cluster.proto",
	"envoy/extensions/transport_sockets/tls/v3/tls.proto",
	"k8s.io/api/core/v1/generated.proto",
	"hello.proto",
}

// readPublished reads the samples. Of the fields that hold messages it keeps those that the sample
// sets: all that a Pod and a Cluster may hold is ten times the code.
func readPublished(ctx context.Context, tree string) (all []codegen.Published, err error) {
	find, err := finder(ctx, tree)
	if err != nil {
		return nil, err
	}
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(find)}
	files, err := compiler.Compile(ctx, publishedFiles...)
	if err != nil {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(tree, "stage", "encode", "schema", "published", "*.txtpb"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		message, err := readSample(path, files.AsResolver())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, message)
	}
	return all, nil
}

var sampleOf = regexp.MustCompile(`^# proto-message: (\S+)\n`)

// readSample reads a message in protobuf's text format, whose first line names its type.
func readSample(path string, types linker.Resolver) (p codegen.Published, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return p, err
	}
	of := sampleOf.FindSubmatch(text)
	if of == nil {
		return p, fmt.Errorf("its first line is not # proto-message: NAME")
	}
	kind, err := types.FindMessageByName(protoreflect.FullName(of[1]))
	if err != nil {
		return p, err
	}
	sample := kind.New()
	if err := (prototext.UnmarshalOptions{Resolver: types}).Unmarshal(text, sample.Interface()); err != nil {
		return p, err
	}
	set := map[protoreflect.FullName]bool{}
	err = protorange.Range(sample, func(at protopath.Values) error {
		if step := at.Path.Index(-1); step.Kind() == protopath.FieldAccessStep {
			set[step.FieldDescriptor().FullName()] = true
		}
		return nil
	})
	if err != nil {
		return p, err
	}
	name := strings.TrimSuffix(filepath.Base(path), ".txtpb")
	normal, err := bring.NormalisePart(kind.Descriptor(), strings.ToUpper(name[:1])+name[1:], func(fd protoreflect.FieldDescriptor) bool {
		return fd.Message() == nil || set[fd.FullName()]
	})
	if err != nil {
		return p, err
	}
	normal.File.Name = proto.String(name + ".proto")
	if p.File, err = protodesc.NewFile(normal.File, protoregistry.GlobalFiles); err != nil {
		return p, err
	}
	p.Sample, err = proto.MarshalOptions{Deterministic: true}.Marshal(sample.Interface())
	return p, err
}

// finder finds files by the names that imports use.
func finder(ctx context.Context, tree string) (protocompile.Resolver, error) {
	described, err := output(ctx, filepath.Join(tree, "tools"), "go", "run", "./published")
	if err != nil {
		return nil, err
	}
	set := new(descriptorpb.FileDescriptorSet)
	if err := proto.Unmarshal(described, set); err != nil {
		return nil, err
	}
	published := func(path string) (protocompile.SearchResult, error) {
		for _, file := range set.File {
			if file.GetName() == path {
				return protocompile.SearchResult{Proto: file}, nil
			}
		}
		return protocompile.SearchResult{}, protoregistry.NotFound
	}
	modules, err := output(ctx, tree, "go", "list", "-m", "-f", "{{.Path}}/ {{.Dir}}/", "k8s.io/api", "k8s.io/apimachinery")
	if err != nil {
		return nil, err
	}
	kubernetes := strings.NewReplacer(strings.Fields(string(modules))...)
	sources := &protocompile.SourceResolver{Accessor: func(path string) (io.ReadCloser, error) {
		if strings.HasPrefix(path, "k8s.io/") {
			return os.Open(kubernetes.Replace(path))
		}
		return os.Open(filepath.Join(tree, "internal", "service", "greeter", "hello", path))
	}}
	return protocompile.CompositeResolver{protocompile.ResolverFunc(published), sources}, nil
}

func output(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "GOWORK=off") // a workspace sees modules that a go.mod prunes
	return cmd.Output()
}
