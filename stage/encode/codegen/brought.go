package codegen

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"postage/internal/usermsg"
)

// broughtSource is the part of a brought message's suite that is not generated.
//
//go:embed broughtpb.go.txt
var broughtSource []byte

// A part is code that only some rows need. If it cannot be generated, or does not compile, those
// rows are lost.
type part struct {
	name  string
	write func(*schema, string) error
	files []string // glob patterns, relative to folder internal
}

// needed are the parts that every row needs: package plain and protobuf's own messages.
var needed = []part{
	{name: "plain", write: writeStructs},
	{name: "bind of plain", write: plainForm.write},
	// protobuf, hyperpb and vtprotobuf share package pb, because the last only adds methods that
	// protobuf does not call.
	{name: "pb", write: with(protobufForm, plugin("protoc-gen-go", ""))},
}

// parts are the other parts, generated after needed.
var parts = []part{
	{"msgp", writeMsgp, []string{"plain/msgp.go"}},
	{"easyjson", ours(writeEasyjson), []string{"plain/easyjson.go"}},
	{"vtprotobuf", into("pb", plugin("protoc-gen-go-vtproto", "features=size+marshal+unmarshal+unmarshal_unsafe")), []string{"pb/*_vtproto.pb.go"}},
	// protobuf's own functions run pbfast's code in pbhook, and not in pb.
	{"pbhook", with(hookForm, plugin("protoc-gen-go", ""), pbfast("methods=pbfast,methods=reuse")), []string{"pbhook/*", "bind/pbhook_gen.go"}},
	{"pbpool", with(poolForm, plugin("protoc-gen-go", ""), pooled), []string{"pbpool/*", "bind/pbpool_gen.go"}},
	{"polymsg", with(polyglotForm, writePolyglot), []string{"polymsg/*", "bind/polymsg_gen.go"}},
	{"easyproto", bound(form{name: "easyproto"}, "fmt", "strings", "github.com/VictoriaMetrics/easyproto"), []string{"bind/easyproto_gen.go"}},
	{"hyperpb", bound(form{name: "hyperpb"}, "buf.build/go/hyperpb", "google.golang.org/protobuf/reflect/protoreflect"), []string{"bind/hyperpb_gen.go"}},
	{"capnmsg", installed("capnp", "capnproto", writeCapnp, bound(capnpForm, "capnproto.org/go/capnp/v3")), []string{"capnmsg/*", "bind/capnmsg_gen.go"}},
	{"flatmsg", installed("flatc", "flatbuffers-compiler", writeFlatbuffers, bound(flatForm, "flatbuffers github.com/google/flatbuffers/go")), []string{"flatmsg/*", "bind/flatmsg_gen.go"}},
}

// A step writes files of a package into its folder, from the messages in that package.
type step func(s *schema, dir string, files []*descriptorpb.FileDescriptorProto) error

// into takes the steps of one package.
func into(pkg string, steps ...step) func(*schema, string) error {
	return func(s *schema, internal string) error {
		files := protobufFiles(s, pkg)
		for _, step := range steps {
			if err := step(s, filepath.Join(internal, pkg), files); err != nil {
				return err
			}
		}
		return nil
	}
}

// with writes a form's package anew, and its file in package bind.
func with(form structForm, steps ...step) func(*schema, string) error {
	return func(s *schema, internal string) error {
		return errors.Join(clear(filepath.Join(internal, form.Pkg), "*.go"), into(form.Pkg, steps...)(s, internal), form.write(s, internal))
	}
}

// ours refuses to write a part for a brought message, which would take too long: protobuf's code once
// more, or easyjson's, which compiles the message's package to look at it.
func ours(write func(*schema, string) error) func(*schema, string) error {
	return func(s *schema, internal string) error {
		if s.brought {
			return errors.New("not measured: generated for Postage's own messages only")
		}
		return write(s, internal)
	}
}

// installed checks that a format's compiler, which is not written in Go, is installed.
func installed(program, pkg string, writes ...func(*schema, string) error) func(*schema, string) error {
	return func(s *schema, internal string) error {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("not measured: %s is not installed (Debian: %s)", program, pkg)
		}
		for _, write := range writes {
			if err := write(s, internal); err != nil {
				return err
			}
		}
		return nil
	}
}

// Bring is a [usermsg.Maker]. It writes the same code for a user's message as BuiltIn does for the
// stage's own. The build uses the user's code instead.
func Bring(ctx context.Context, b usermsg.Message) (*usermsg.Code, error) {
	if b.Type != "" {
		return bringStruct(b)
	}
	s, err := broughtSchema(b)
	if err != nil {
		return nil, err
	}
	if err := os.RemoveAll(b.Folder); err != nil {
		return nil, err
	}
	for _, p := range needed {
		if err := caught(p.write, s, b.Folder); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// Generators of different parts must write different files.
	faults := make([]error, len(parts))
	var writing sync.WaitGroup
	for i, p := range parts {
		writing.Go(func() { faults[i] = caught(p.write, s, b.Folder) })
	}
	writing.Wait()
	for i, err := range faults {
		if err != nil {
			s.lost[parts[i].name] = firstLine(err)
		}
	}
	return assemble(s, b)
}

// bringStruct writes a program that measures a Go struct. Nothing is generated for the struct.
func bringStruct(b usermsg.Message) (*usermsg.Code, error) {
	s := new(schema)
	if err := s.locate(b.Tree); err != nil {
		return nil, err
	}
	module := strings.TrimSuffix(s.module, "/"+internal)
	main := fmt.Sprintf("func main() { cli.Main(route.Brought(encode.Struct[brought.%s](%q))...) }", b.Type, b.Config)
	return &usermsg.Code{Main: b.Folder}, saveGo(filepath.Join(b.Folder, "main.go"), "main", main, module+"/cli", module+"/stage/encode", module+"/stage/route", "brought "+b.Package)
}

// caught returns a writer's error, or its panic as an error.
func caught(write func(*schema, string) error, s *schema, internal string) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("%v", value)
		}
	}()
	return write(s, internal)
}

// firstLine returns the first line of an error or, if that only says that a program failed, the
// first line of the program's output.
func firstLine(err error) string {
	first, rest, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	for (strings.Contains(first, "exit status") || strings.HasSuffix(first, "error:") || strings.Contains(first, "warning:")) && strings.TrimSpace(rest) != "" {
		first, rest, _ = strings.Cut(strings.TrimSpace(rest), "\n")
	}
	return strings.TrimSpace(first)
}

func broughtSchema(b usermsg.Message) (*schema, error) {
	file := new(descriptorpb.FileDescriptorProto)
	if err := proto.Unmarshal(b.File, file); err != nil {
		return nil, err
	}
	linked, err := protodesc.NewFile(file, nil)
	if err != nil {
		return nil, err
	}
	s := &schema{brought: true, lost: map[string]string{}}
	s.add(linked)
	return s, s.locate(b.Tree)
}

// assemble writes the files that depend on which parts exist. It returns the overlay: which file
// replaces which.
func assemble(s *schema, b usermsg.Message) (*usermsg.Code, error) {
	if err := writeKits(s, b.Folder); err != nil {
		return nil, err
	}
	if err := writeBroughtSuite(s, b); err != nil {
		return nil, err
	}
	overlay := map[string]string{
		"cmd/postage/main.go":       filepath.Join(b.Folder, "main.go"),
		"stage/encode/broughtpb.go": filepath.Join(b.Folder, "broughtpb.go"),
	}
	// The stage's files about its own messages are left out.
	files, err := filepath.Glob(filepath.Join(s.tree, "stage", "encode", "*.go"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err != nil {
			return nil, err
		} else if strings.Contains(string(text), internal+"plain\"") || strings.Contains(string(text), internal+"pb\"") {
			overlay["stage/encode/"+filepath.Base(file)] = ""
		}
	}
	for _, name := range []string{"messages.go", "rows_gen.go"} {
		overlay["stage/encode/"+name] = filepath.Join(b.Folder, name)
	}
	missing := func(path string) bool { // the file belongs to a lost part
		return slices.ContainsFunc(parts, func(p part) bool { return !s.Has(p.name) && p.has(path) })
	}
	// Remove the stage's own messages, then add the brought one.
	for _, root := range []string{filepath.Join(s.tree, filepath.FromSlash(internal)), b.Folder} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			rel, _ := filepath.Rel(root, path)
			rel = filepath.ToSlash(rel)
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasPrefix(rel, "bind/") && !strings.HasSuffix(rel, "_gen.go") || !strings.Contains(rel, "/") {
				return err
			}
			overlay[internal+rel] = ""
			if root == b.Folder && !missing(rel) {
				overlay[internal+rel] = path
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return &usermsg.Code{
		Overlay: overlay, Main: "cmd/postage", Lost: s.lost,
		Part: func(path string) string { return s.partOf(path, b.Folder) },
		Without: func(part, reason string) (*usermsg.Code, error) {
			s.lost[part] = reason
			return assemble(s, b)
		},
	}, nil
}

// partOf returns a file's part. The compiler may name the file by its own path, or by the path of
// the file that it replaces.
func (s *schema) partOf(path, folder string) string {
	rel, err := filepath.Rel(folder, path)
	if err != nil || !filepath.IsLocal(rel) {
		_, rel, _ = strings.Cut(filepath.ToSlash(path), internal)
	}
	rel = filepath.ToSlash(rel)
	if i := slices.IndexFunc(parts, func(p part) bool { return s.Has(p.name) && p.has(rel) }); i >= 0 {
		return parts[i].name
	}
	return ""
}

// has reports whether a file in folder internal belongs to the part.
func (p part) has(path string) bool {
	return slices.ContainsFunc(p.files, func(pattern string) bool {
		ok, _ := filepath.Match(pattern, path)
		return ok
	})
}

// writeBroughtSuite writes the main program, and the file that replaces the stage's own messages.
func writeBroughtSuite(s *schema, b usermsg.Message) error {
	module := strings.TrimSuffix(s.module, "/"+internal)
	if err := saveGo(filepath.Join(b.Folder, "main.go"), "main", "func main() { cli.Main(route.Brought(encode.Brought())...) }", module+"/cli", module+"/stage/encode", module+"/stage/route"); err != nil {
		return err
	}
	source := strings.ReplaceAll(string(broughtSource), "\"postage/", fmt.Sprintf("\"%s/", module))
	if err := save(filepath.Join(b.Folder, "broughtpb.go"), []byte(source)); err != nil {
		return err
	}
	if err := (page{schema: s, Config: b.Config}).write(filepath.Join(b.Folder, "messages.go"), "encode", "brought", module+"/lab", s.module+"plain"); err != nil {
		return err
	}
	for part, why := range s.lost {
		s.lost[part] = strings.ReplaceAll(why, b.Folder+string(filepath.Separator), "")
	}
	return writeRows(s, b.Folder)
}

// HasText reports whether the messages have any strings or bytes, which could share memory with the
// input.
func (s *schema) HasText() bool {
	return slices.ContainsFunc(s.Messages, func(md protoreflect.MessageDescriptor) bool {
		return slices.ContainsFunc(fieldsOf(md), func(fd protoreflect.FieldDescriptor) bool {
			return isText(fd) || fd.IsMap() && (isText(fd.MapKey()) || isText(fd.MapValue()))
		})
	})
}
