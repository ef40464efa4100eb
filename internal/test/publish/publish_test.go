// Package publish tests that others can fetch the modules of this repository once they have an
// address: it gives a copy of the repository one, publishes it in a folder that is laid out as a
// module proxy, and builds programs outside from there, with an empty module cache.
package publish

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

const (
	repository = "../../.."
	address    = "example.org/you/postage" // as documents have it
	version    = "v0.1.0"
)

// A place is a folder, and the environment of the programs that run in it.
type place struct {
	dir string
	env []string
}

// try returns what a program prints to standard output. The error has what it says besides.
func (p place) try(stdin []byte, program string, args ...string) (string, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = p.dir, append(os.Environ(), p.env...), bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", program, strings.Join(args, " "), err, out, stderr.Bytes())
	}
	return string(out), nil
}

// run is try for what must succeed.
func (p place) run(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := p.try(nil, program, args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

func (p place) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (p place) write(t *testing.T, name, text string) {
	t.Helper()
	name = filepath.Join(p.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666)); err != nil {
		t.Fatal(err)
	}
}

// copied is a copy of this checkout, with one commit.
func copied(t *testing.T) place {
	t.Helper()
	out, err := place{repository, nil}.try(nil, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		t.Skip("not a checkout: ", err)
	}
	to := place{t.TempDir(), []string{"GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=test", "GIT_AUTHOR_EMAIL=test@example.org", "GIT_COMMITTER_NAME=test", "GIT_COMMITTER_EMAIL=test@example.org"}}
	for name := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		from := filepath.Join(repository, name)
		info, err := os.Lstat(from)
		if err != nil || !info.Mode().IsRegular() {
			continue // deleted and not committed
		}
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		to.write(t, name, string(text))
		if err := os.Chmod(filepath.Join(to.dir, name), info.Mode()); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "all"}} {
		to.run(t, "git", args...)
	}
	return to
}

// published does what CONTRIBUTING.md says, in a copy of the repository, and puts what is tagged
// into the folder of a module proxy.
func published(t *testing.T) (checkout place, proxy string) {
	t.Helper()
	checkout = copied(t)
	commands, push, ok := strings.Cut(checkout.toPublish(t)[0], "\ngit push ")
	if !ok || strings.Contains(push, "\n") {
		t.Fatalf("what CONTRIBUTING.md has first does not end with git push: %q", commands)
	}
	checkout.run(t, "bash", "-euc", commands)

	proxy = t.TempDir()
	for tag := range strings.FieldsSeq(checkout.run(t, "git", "tag")) {
		folder, _ := strings.CutSuffix(tag, version)
		publish(t, checkout, proxy, strings.TrimSuffix(folder, "/"), tag)
	}
	return checkout, proxy
}

// toPublish are the two blocks of commands in CONTRIBUTING.md.
func (p place) toPublish(t *testing.T) (blocks [2]string) {
	t.Helper()
	_, section, _ := strings.Cut(p.read(t, "CONTRIBUTING.md"), "\n## Publish the modules\n")
	found := regexp.MustCompile("(?s)\n```sh\n(.*?)\n```\n").FindAllStringSubmatch(section, -1)
	if len(found) != len(blocks) {
		t.Fatalf("CONTRIBUTING.md has %d blocks on publishing, want %d", len(found), len(blocks))
	}
	for i, m := range found {
		blocks[i] = m[1]
	}
	return blocks
}

// publish puts the module of a folder, as it is tagged, into a proxy, see
// https://go.dev/ref/mod#goproxy-protocol.
func publish(t *testing.T, checkout place, proxy, folder, tag string) {
	t.Helper()
	m := module.Version{Path: strings.TrimSuffix(address+"/"+folder, "/"), Version: version}
	var archive bytes.Buffer
	if err := modzip.CreateFromVCS(&archive, m, checkout.dir, tag, folder); err != nil {
		t.Fatal(err)
	}
	mod := checkout.run(t, "git", "show", tag+":"+filepath.ToSlash(filepath.Join(folder, "go.mod"))) + "\n"
	at := place{filepath.Join(proxy, filepath.FromSlash(m.Path), "@v"), nil}
	at.write(t, version+".zip", archive.String())
	at.write(t, version+".mod", mod)
	at.write(t, version+".info", `{"Version":"`+version+`"}`)
	at.write(t, "list", version+"\n")
	if strings.Contains(mod, "replace "+address) || strings.Contains(mod, "v0.0.0\n") {
		t.Errorf("%s: go.mod needs what is not published:\n%s", m.Path, mod)
	}
}

// outsider is a module that is not ours. It gets our modules from the proxy, what is public from
// the module cache of this machine or its proxy, and keeps both in a module cache of its own: ours
// would keep what this test publishes.
func outsider(t *testing.T, proxy, cache string) place {
	t.Helper()
	known := place{}.run(t, "go", "env", "GOMODCACHE")
	p := place{t.TempDir(), []string{
		"GOWORK=off", "GOFLAGS=-modcacherw", "GOMODCACHE=" + cache, "GONOSUMDB=" + address, "GOENV=off", "GONOPROXY=", "GOPRIVATE=",
		"GOPROXY=file://" + filepath.ToSlash(proxy) + ",file://" + filepath.ToSlash(known) + "/cache/download," + place{}.run(t, "go", "env", "GOPROXY"),
	}}
	p.run(t, "go", "mod", "init", "example.com/outside")
	return p
}

// summed are the modules that go.sum names, and those of them whose code it has, not only their
// go.mod.
func (p place) summed(t *testing.T) (named, code []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`(?m)^(\S+) v[^\s/]+(/go\.mod)? h1:`).FindAllStringSubmatch(p.read(t, "go.sum"), -1) {
		named = append(named, m[1])
		if m[2] == "" {
			code = append(code, m[1])
		}
	}
	return slices.Compact(named), code
}

// The program outside of each library brings the library, what the library says that it needs, and
// nothing else.
var libraries = []struct {
	name, says string
	brings     []string // but the library
	prepare    func(*testing.T, place)
	skip       func(*testing.T)
}{
	{name: "webpush", says: "opened: Dinner is ready"},
	{name: "pgbulk", says: "rows: 1, Metropolis", skip: needsPostgres, brings: []string{
		"github.com/jackc/pgpassfile", "github.com/jackc/pgservicefile", "github.com/jackc/pgx/v5", "github.com/jackc/puddle/v2", "golang.org/x/sync", "golang.org/x/text",
	}},
	{name: "pbfast", says: "decoded: Dinner is ready", prepare: generateNote, brings: []string{"google.golang.org/protobuf"}},
}

func needsPostgres(t *testing.T) {
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); len(found) == 0 && os.Getenv("CI") != "true" {
		t.Skip("no PostgreSQL on this machine: the program is built and not run")
	}
}

// generateNote has protoc-gen-go and the published plug-in write code for a message.
func generateNote(t *testing.T, p place) {
	t.Helper()
	request, err := proto.Marshal(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{"note.proto"}, Parameter: new("module=example.com/outside"),
		ProtoFile: []*descriptorpb.FileDescriptorProto{{
			Name: new("note.proto"), Package: new("outside"), Syntax: new("proto3"),
			Options: &descriptorpb.FileOptions{GoPackage: new("example.com/outside/note")},
			MessageType: []*descriptorpb.DescriptorProto{{Name: new("Note"), Field: []*descriptorpb.FieldDescriptorProto{{
				Name: new("text"), Number: new(int32(1)), JsonName: new("text"),
				Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
			}}}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, plugin := range []string{"google.golang.org/protobuf/cmd/protoc-gen-go", address + "/pbfast/cmd/protoc-gen-pbfast"} {
		out, err := p.try(request, "go", "run", "-trimpath", plugin)
		if err != nil {
			t.Fatal(err)
		}
		response := new(pluginpb.CodeGeneratorResponse)
		if err := proto.Unmarshal([]byte(out), response); err != nil || response.Error != nil {
			t.Fatalf("%s: %v %s", plugin, err, response.GetError())
		}
		for _, file := range response.File {
			p.write(t, file.GetName(), file.GetContent())
		}
	}
}

// Strangers fetch each library and use it. With POSTAGE_LONG they also install the command, and
// build one with a suite of their own. The checkout builds, each library with its go.mod's oldest
// Go.
func TestPublished(t *testing.T) {
	checkout, proxy := published(t)
	for pkg := range strings.FieldsSeq(checkout.run(t, "go", "list", "-deps", "-test", "work")) {
		if pkg == "postage" || strings.HasPrefix(pkg, "postage/") {
			t.Errorf("%s is still imported by its old path", pkg)
		}
	}
	cache := t.TempDir()
	for _, library := range libraries {
		t.Run(library.name, func(t *testing.T) {
			t.Parallel()
			p := outsider(t, proxy, cache)
			p.run(t, "go", "get", address+"/"+library.name+"@"+version)
			if library.prepare != nil {
				library.prepare(t, p)
			}
			program, err := os.ReadFile(filepath.Join("testdata", library.name+".go.txt"))
			if err != nil {
				t.Fatal(err)
			}
			p.write(t, "main.go", string(program))
			p.run(t, "go", "get", ".")
			p.run(t, "go", "build", "-trimpath", "-o", "outside", ".")
			named, code := p.summed(t)
			want := slices.Sorted(slices.Values(append(library.brings, address+"/"+library.name)))
			if !slices.Equal(code, want) || len(want) == 1 && len(named) > 1 {
				t.Errorf("it brings the code of %q, want %q; go.sum names %q", code, want, named)
			}
			if library.skip != nil {
				library.skip(t)
			}
			if got := p.run(t, "./outside"); got != library.says {
				t.Errorf("the program outside printed %q, want %q", got, library.says)
			}
		})
	}
	t.Run("command", func(t *testing.T) {
		needLong(t)
		p := outsider(t, proxy, cache)
		p.env = append(p.env, "GOBIN="+p.dir)
		p.run(t, "go", "install", "-trimpath", address+"/cmd/postage@"+version)
		if got := p.run(t, "./postage", "--help"); !strings.Contains(got, "postage run") {
			t.Errorf("help: %s", got)
		}
		if got := p.run(t, "./postage", "list", "Encode/msg=tiny"); !strings.Contains(got, "codec=json") {
			t.Errorf("list: %s", got)
		}
		if got := p.run(t, "./postage", "--version"); !strings.Contains(got, version) {
			t.Errorf("version: %s", got)
		}
	})
	t.Run("suite", func(t *testing.T) {
		needLong(t)
		p := outsider(t, proxy, cache)
		_, program, _ := strings.Cut(checkout.read(t, "docs/suites.md"), "\n```go\n")
		program, _, _ = strings.Cut(program, "\n```\n")
		p.write(t, "main.go", program)
		p.run(t, "go", "get", address+"@"+version)
		p.run(t, "go", "get", ".")
		p.run(t, "go", "build", "-trimpath", "-o", "sums", ".")
		if got := p.run(t, "./sums", "list", "Sum"); !strings.Contains(got, "hash=crc32") {
			t.Errorf("list: %s", got)
		}
	})
	t.Run("checkout", func(t *testing.T) {
		needLong(t)
		checkout.run(t, "go", "build", "work")
		alone := place{checkout.dir, append(outsider(t, proxy, cache).env, checkout.env...)}
		alone.run(t, "bash", "-euc", checkout.toPublish(t)[1])
		alone.run(t, "go", "list", "-deps", "./cmd/postage")
		for _, library := range libraries {
			oldest := regexp.MustCompile(`(?m)^go (\S+)$`).FindStringSubmatch(checkout.read(t, library.name+"/go.mod"))[1]
			old := place{filepath.Join(checkout.dir, library.name), []string{"GOWORK=off", "GOTOOLCHAIN=go" + oldest}}
			old.run(t, "go", "vet", "./...")
		}
	})
}

func needLong(t *testing.T) {
	t.Helper()
	if os.Getenv("POSTAGE_LONG") == "" {
		t.Skip("builds everything in a new place: POSTAGE_LONG=1")
	}
}

// Reading, building and vetting a fresh clone leave it as it is: go.work.sum has all that is asked.
// Without POSTAGE_LONG the build and vet stop before they compile.
func TestCloneStaysClean(t *testing.T) {
	clone := copied(t)
	for _, command := range []string{"go doc ./pgbulk", "go build ./cmd/postage", "go vet ./webpush/..."} {
		args := strings.Fields(command)
		if os.Getenv("POSTAGE_LONG") == "" && args[1] != "doc" {
			args = slices.Insert(args, 2, "-n")
		}
		clone.run(t, args[0], args[1:]...)
		if changed := clone.run(t, "git", "status", "--porcelain"); changed != "" {
			t.Errorf("%s changes %s", command, changed)
		}
	}
}

// What is no address, or no version, changes nothing. Examples in documents have the address, too.
// The next version is given in the same way.
func TestRehome(t *testing.T) {
	script, err := filepath.Abs(filepath.Join(repository, "tools", "rehome.sh"))
	if err != nil {
		t.Fatal(err)
	}
	p := place{t.TempDir(), nil}
	p.run(t, "git", "init", "-q")
	const before = "module postage\n\ngo 1.26.0\n\nrequire postage/pgbulk v0.0.0\n\nreplace postage/pgbulk => ./pgbulk\n"
	p.write(t, "go.mod", before)
	p.write(t, "go.work", "go 1.26.0\n\nuse (\n\t.\n\t./pgbulk\n)\n")
	p.write(t, "lab/lab.go", "package lab\n\nimport _ \"postage/lab/benchtest\"\n")
	p.write(t, "README.md", "go get "+address+"/pgbulk, and `postage/lab`; `postage run`\n")
	for _, c := range []struct{ address, version, want string }{
		{"postage", "v0.1.0", "is not a module path"},
		{"https://example.org/x", "v0.1.0", "is not a module path"},
		{"example.org/x", "1.0", "is not a version"},
	} {
		if _, err := p.try(nil, script, c.address, c.version); err == nil || !strings.Contains(err.Error(), c.want) || p.read(t, "go.mod") != before {
			t.Errorf("rehome to %q at %q: %v, want %q", c.address, c.version, err, c.want)
		}
	}
	p.run(t, script, "git.example.net/team/post")
	p.run(t, script, "git.example.net/team/post", "v0.2.0")
	for name, want := range map[string]string{
		"go.mod":     "module git.example.net/team/post\n\ngo 1.26.0\n\nrequire git.example.net/team/post/pgbulk v0.2.0\n",
		"go.work":    "go 1.26.0\n\nuse (\n\t.\n\t./pgbulk\n)\n\nreplace git.example.net/team/post/pgbulk v0.2.0 => ./pgbulk\n",
		"lab/lab.go": "package lab\n\nimport _ \"git.example.net/team/post/lab/benchtest\"\n",
		"README.md":  "go get git.example.net/team/post/pgbulk, and `git.example.net/team/post/lab`; `postage run`\n",
	} {
		if got := p.read(t, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
