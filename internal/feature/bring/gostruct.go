package bring

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/go/packages"

	"postage/internal/feature/build"
	"postage/internal/usermsg"
	"postage/lab"
)

// A GoStruct is a struct type of a Go package in the current folder's module, or in one that it
// requires.
type GoStruct struct {
	Package string // import path
	Name    string
	Called  string // its name in Go code that imports the package: "model.Order"
	typ     types.Type
}

// LoadStruct finds a struct by its package (a folder or an import path) and its name.
func LoadStruct(ctx context.Context, pattern, name string) (*GoStruct, error) {
	list, err := packages.Load(&packages.Config{Context: ctx, Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps}, pattern)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", pattern, err)
	case len(list) != 1:
		return nil, fmt.Errorf("%s: name one Go package, these are %d", pattern, len(list))
	case len(list[0].Errors) > 0:
		return nil, fmt.Errorf("%s does not compile in this folder's module (`go build %s` says why, `go mod tidy` adds what go.mod lacks): %w", pattern, pattern, list[0].Errors[0])
	case list[0].Name == "main":
		return nil, fmt.Errorf("%s is a program, whose types no other package can use: move %s to a package of its own", pattern, cmp.Or(name, "the type"))
	}
	scope := list[0].Types.Scope()
	object, ok := scope.Lookup(name).(*types.TypeName)
	if !ok {
		var names []string
		for _, other := range scope.Names() {
			if object, ok := scope.Lookup(other).(*types.TypeName); ok && object.Exported() && structOf(object) != nil {
				names = append(names, other)
			}
		}
		few := strings.Join(names[:min(len(names), 8)], ", ")
		if name == "" {
			return nil, fmt.Errorf("which type of %s? name one with --type: %s", pattern, few)
		}
		return nil, fmt.Errorf("package %s has no type %s: it has %s", pattern, name, few)
	}
	full := list[0].PkgPath + "." + name
	st := structOf(object)
	switch named, _ := object.Type().(*types.Named); {
	case !object.Exported():
		return nil, fmt.Errorf("%s is not exported, so no other package can use it: export it, or an alias of it", full)
	case named != nil && named.TypeParams().Len() > 0:
		return nil, fmt.Errorf("%s has type parameters: declare a type that names its arguments, such as type Mine = %s[int], and bring that", full, name)
	case st == nil:
		return nil, fmt.Errorf("%s is not a struct: bring a struct that has a field of it", full)
	case types.NewMethodSet(types.NewPointer(object.Type())).Lookup(nil, "ProtoReflect") != nil:
		return nil, fmt.Errorf("%s is generated from a .proto file: bring that file", full)
	default:
		return &GoStruct{Package: list[0].PkgPath, Name: name, Called: list[0].Name + "." + name, typ: object.Type()}, nil
	}
}

func structOf(object *types.TypeName) *types.Struct {
	st, _ := object.Type().Underlying().(*types.Struct)
	return st
}

// ReadJSON reads samples of the struct. Only the program that is built can decode them.
func (st *GoStruct) ReadJSON(paths []string, part Part) (*Samples, error) {
	s := &Samples{placed: true}
	for _, path := range paths {
		if !IsJSON(path) {
			return nil, fmt.Errorf("%s: samples of a Go struct are JSON, in a file whose name ends in .json or .ndjson", path)
		}
		err := eachJSON(path, part, func(line int, raw []byte) error {
			where := fmt.Sprintf("%s:%d", path, line)
			if unknown := unknownJSON(raw, goMembers(st.typ)); len(unknown) > 0 {
				s.drop(unknownFields, where, unknown[0])
			}
			s.lose(where, raw)
			s.keep(where, bytes.Clone(raw))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return s.done(paths, part)
}

// BuildStruct builds the program for a Go struct. The program is a module of its own, in a Go
// workspace with this program's source and the struct's modules. The go command chooses versions for
// all of them at once, and changes none of their files.
func (w *Workspace) BuildStruct(ctx context.Context, bringer usermsg.Maker, st *GoStruct) (*Built, error) {
	begin := time.Now()
	folder := filepath.Join(w.folder, "main")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	code, err := bringer(ctx, usermsg.Message{Package: st.Package, Type: st.Name, Tree: w.tree, Folder: folder, Config: w.configFile()})
	if err != nil {
		return nil, fmt.Errorf("generate code: %w", err)
	}
	// An internal package can only be imported from inside its parent folder.
	module := "postagebrought"
	if parent, _, ok := strings.Cut("/"+st.Package+"/", "/internal/"); ok && parent != "" {
		module = strings.TrimPrefix(parent, "/") + "/" + module
	}
	version, err := build.Output(ctx, w.tree, "go", "env", "GOVERSION")
	if err != nil {
		return nil, err
	}
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "go"), " ")
	if err := os.WriteFile(filepath.Join(folder, "go.mod"), fmt.Appendf(nil, "module %s\n\ngo %s\n", module, version), 0o644); err != nil {
		return nil, err
	}
	work, err := w.work(ctx, version, folder)
	if err != nil {
		return nil, err
	}
	workFile := filepath.Join(w.folder, "go.work")
	if err := os.WriteFile(workFile, work, 0o644); err != nil {
		return nil, err
	}
	built := &Built{Generate: time.Since(begin)}
	begin = time.Now()
	cmd := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-buildvcs=false", "-ldflags=-w", "-o", w.Program(), ".")
	cmd.Dir, cmd.Env = code.Main, append(os.Environ(), "GOWORK="+workFile)
	said, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return nil, lab.ErrInterrupted
	case err != nil:
		return nil, fmt.Errorf("build a program of %s.%s: %w\n%s", st.Package, st.Name, err, bytes.TrimSpace(said))
	}
	built.Build = time.Since(begin)
	return built, nil
}

// A goWork is the go command's description of a go.work file, and of the replacements in a go.mod
// file.
type goWork struct {
	Use     []struct{ DiskPath string }
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
}

// work returns the go.work file. It joins this program's modules, the current folder's and the one
// that is built.
func (w *Workspace) work(ctx context.Context, version, folder string) ([]byte, error) {
	use := []string{folder}
	var replace []string
	for _, from := range []string{w.tree, "."} {
		from, err := filepath.Abs(from)
		if err != nil {
			return nil, err
		}
		file, err := build.Output(ctx, from, "go", "env", "GOWORK")
		if err != nil {
			return nil, err
		}
		if file == "" || file == "off" {
			modules, err := build.Output(ctx, from, "go", "env", "GOMOD")
			if err != nil {
				return nil, err
			}
			if modules == "" || modules == os.DevNull {
				return nil, errors.New("the current folder is not in a Go module: run this in the module that has or requires the struct's package")
			}
			use = append(use, filepath.Dir(modules))
			continue
		}
		said, err := build.Output(ctx, from, "go", "work", "edit", "-json")
		if err != nil {
			return nil, err
		}
		var parsed goWork
		if err := json.Unmarshal([]byte(said), &parsed); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		absolute := func(path string) string {
			if filepath.IsAbs(path) {
				return path
			}
			return filepath.Join(filepath.Dir(file), filepath.FromSlash(path))
		}
		for _, u := range parsed.Use {
			use = append(use, absolute(u.DiskPath))
		}
		for _, r := range parsed.Replace {
			if r.New.Version == "" {
				r.New.Path = absolute(r.New.Path)
			}
			replace = append(replace, strings.TrimSpace(r.Old.Path+" "+r.Old.Version)+" => "+strings.TrimSpace(r.New.Path+" "+r.New.Version))
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "go %s\n\n", version)
	slices.Sort(use)
	for _, path := range slices.Compact(use) {
		fmt.Fprintf(&text, "use %q\n", path)
	}
	slices.Sort(replace)
	for _, r := range slices.Compact(replace) {
		fmt.Fprintf(&text, "replace %s\n", r)
	}
	return []byte(text.String()), nil
}
