package bring

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"google.golang.org/protobuf/proto"

	"postage/internal/feature/build"
	"postage/internal/usermsg"
	"postage/lab"
)

// A Workspace is the folder of one brought message, with its generated code, its samples and the
// program that is built from them.
type Workspace struct {
	Name   string // the message's name in cases
	full   string // the message's full name
	folder string // absolute
	tree   string // root of this program's source, an absolute path
	config usermsg.Config
}

// Open returns a message's workspace below the current folder. The folder has the message's short
// name, or its full name if another message has the short one.
func Open(ctx context.Context, name, full string) (*Workspace, error) {
	tree, err := source(ctx)
	if err != nil {
		return nil, err
	}
	w := &Workspace{Name: name, full: full, tree: tree}
	if w.folder, err = filepath.Abs(filepath.Join(".postage", "bring", name)); err != nil {
		return nil, err
	}
	var found usermsg.Config
	data, err := os.ReadFile(w.configFile())
	if err == nil && json.Unmarshal(data, &found) == nil && found.Of != full {
		w.Name = strings.ReplaceAll(full, "/", ".")
		w.folder = filepath.Join(filepath.Dir(w.folder), w.Name)
	}
	return w, os.MkdirAll(w.folder, 0o755)
}

// source finds this program's source: in the current folder's module, in a module that it requires,
// or where the program was built.
func source(ctx context.Context) (string, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return "", &lab.Hinted{Err: errors.New("bring compiles code, and there is no go command here"), Hint: "install it from https://go.dev/dl"}
	}
	module, _, _ := strings.Cut(reflect.TypeFor[Workspace]().PkgPath(), "/")
	if folder, err := build.Output(ctx, "", "go", "list", "-m", "-f", "{{if or .Main .Replace}}{{.Dir}}{{end}}", module); err == nil && folder != "" {
		return folder, nil
	}
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		tree := filepath.Join(filepath.Dir(file), "..", "..", "..")
		if _, err := os.Stat(filepath.Join(tree, "go.mod")); err == nil {
			return tree, nil
		}
	}
	return "", &lab.Hinted{Err: errors.New("bring builds from this program's source, which is not here"), Hint: "clone its repository, and run `go run ./cmd/postage bring` there, or build the program there and use it anywhere on this machine"}
}

// Program returns the path of the message's program, which is a whole postage.
func (w *Workspace) Program() string {
	program := filepath.Join(w.folder, "postage")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	return program
}

func (w *Workspace) configFile() string { return filepath.Join(w.folder, "brought.json") }

// Built says how long a build took, and which parts of the program could not be compiled.
type Built struct {
	Generate, Build time.Duration // 0 if an earlier build could be used
	Lost            map[string]string
}

// Build builds the program, unless this version has already built it for the same message. It
// leaves out code that does not compile, and the rows that need it.
func (w *Workspace) Build(ctx context.Context, bringer usermsg.Maker, n *Normal) (*Built, error) {
	file, err := proto.MarshalOptions{Deterministic: true}.Marshal(n.File)
	if err != nil {
		return nil, err
	}
	key, err := w.key(file)
	if err != nil {
		return nil, err
	}
	built := new(Built)
	keyFile := filepath.Join(w.folder, "built.json")
	var before struct {
		Key  string
		Lost map[string]string
	}
	if data, err := os.ReadFile(keyFile); err == nil && json.Unmarshal(data, &before) == nil && before.Key == key {
		if _, err := os.Stat(w.Program()); err == nil {
			built.Lost = before.Lost
			return built, nil
		}
	}
	if err := os.Remove(keyFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	begin := time.Now()
	code, err := bringer(ctx, usermsg.Message{File: file, Tree: w.tree, Folder: filepath.Join(w.folder, "generated"), Config: w.configFile()})
	if err != nil {
		return nil, fmt.Errorf("generate code: %w", err)
	}
	built.Generate = time.Since(begin)
	begin = time.Now()
	for {
		path, said, err := w.compile(ctx, code)
		if err != nil {
			return nil, err
		}
		if said == "" {
			break
		}
		part := code.Part(path)
		if part == "" {
			return nil, fmt.Errorf("the generated code does not compile: %s", said)
		}
		if code, err = code.Without(part, said); err != nil {
			return nil, err
		}
	}
	built.Build, built.Lost = time.Since(begin), code.Lost
	before.Key, before.Lost = key, code.Lost
	return built, writeJSON(keyFile, before)
}

// Lock waits until no other command uses the workspace, and calls waiting before it waits. Two
// commands would write the same files, and measure each other's samples.
func (w *Workspace) Lock(ctx context.Context, waiting func()) (unlock func() error, err error) {
	lock := flock.New(w.folder + ".lock")
	if locked, err := lock.TryLock(); locked || err != nil {
		return lock.Close, err
	}
	waiting()
	if _, err := lock.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		return nil, lab.ErrInterrupted
	}
	return lock.Close, nil
}

// key identifies a built program by its message, this program and the source.
func (w *Workspace) key(file []byte) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	program, err := os.ReadFile(self)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(program)
	return fmt.Sprintf("%x", sha256.Sum256(append(append(sum[:], file...), w.tree...))), nil
}

var compileError = regexp.MustCompile(`(?m)^(\S+\.go):\d+:(?:\d+:)? .*$`)

// compile builds the program. It returns the compiler's first message about each file, by the
// file's path.
func (w *Workspace) compile(ctx context.Context, code *usermsg.Code) (path, said string, err error) {
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for name, replacement := range code.Overlay {
		overlay.Replace[filepath.Join(w.tree, filepath.FromSlash(name))] = replacement
	}
	overlayFile := filepath.Join(w.folder, "overlay.json")
	if err := writeJSON(overlayFile, overlay); err != nil {
		return "", "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-ldflags=-w", "-overlay="+overlayFile, "-o", w.Program(), "./"+code.Main)
	cmd.Dir = w.tree
	text, err := cmd.CombinedOutput()
	switch m := compileError.FindSubmatch(text); {
	case ctx.Err() != nil:
		return "", "", lab.ErrInterrupted
	case err == nil:
		return "", "", nil
	case m != nil:
		path := filepath.FromSlash(string(m[1]))
		if !filepath.IsAbs(path) { // below the folder in which go build ran
			path = filepath.Join(w.tree, path)
		}
		// The go command writes .. for the folder above where a path only begins with its name.
		_, end, _ := strings.Cut(string(m[1]), "/")
		for _, replacement := range code.Overlay {
			if strings.HasSuffix(filepath.ToSlash(replacement), "/"+end) {
				path = replacement
			}
		}
		return path, string(m[0]), nil
	}
	return "", "", fmt.Errorf("go build: %w\n%s", err, text)
}

// Configure writes the samples, and the configuration that the program reads when it starts. The
// configuration starts without lost rows.
func (w *Workspace) Configure(config usermsg.Config, s *Samples) error {
	file := s.File()
	config.Name = w.Name
	config.Of = w.full
	config.Samples = filepath.Join(w.folder, "samples")
	config.Digest = fmt.Sprintf("%x", sha256.Sum256(file))
	config.Largest = s.largest()
	if err := os.WriteFile(config.Samples, file, 0o644); err != nil {
		return err
	}
	w.config = config
	return writeJSON(w.configFile(), config)
}

// lose records why rows are not possible for these samples.
func (w *Workspace) lose(rows map[string]string) error {
	w.config.Lost = rows
	return writeJSON(w.configFile(), w.config)
}

// Prove runs the program's proof of each row. It returns the proven rows, and the other rows with
// the reasons. A row that ends the program is lost.
func (w *Workspace) Prove(ctx context.Context) (proven []string, lost map[string]string, err error) {
	lost = map[string]string{}
	for {
		cmd := exec.CommandContext(ctx, w.Program(), "prove")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		proven = nil
		current := "" // the row whose proof has begun
		for line := range strings.Lines(string(out)) {
			var row struct{ Row, Fault string }
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				return nil, nil, fmt.Errorf("prove: %w: %s", err, line)
			}
			switch {
			case row.Fault == "":
				current = row.Row
				continue
			case row.Fault == "ok":
				proven = append(proven, row.Row)
			default:
				lost[row.Row] = row.Fault
			}
			current = ""
		}
		if ctx.Err() != nil {
			return nil, nil, lab.ErrInterrupted
		}
		if err == nil {
			return proven, lost, w.lose(lost)
		}
		if current == "" {
			return nil, nil, fmt.Errorf("prove: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
		}
		first, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		lost[current] = "ends the program: " + first
		if err := w.lose(lost); err != nil {
			return nil, nil, err
		}
	}
}

func writeJSON(path string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}
