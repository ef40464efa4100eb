package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Target is what is built of a source.
type Target struct {
	Package string   // as the go command in the source's folder takes it; one
	Test    bool     // its test binary, as go test -c makes it, in place of its program
	Flags   []string // for go build: "-tags=…", "-pgo=…", "-ldflags=…"
}

// Layouts builds the target in so many function layouts, with the linker's seeds 1, 2, 3 …, and
// returns the programs' files, which stay until Close at least. The same seeds are other layouts in
// other code. With one layout it is the one that the linker gives it without being told, and a Go
// release before 1.22 knows no other.
//
// Packages are compiled once, and linked once for each layout. Debugging information is left out.
// An error contains the compiler's output.
func (s *Source) Layouts(ctx context.Context, target Target, layouts int) ([]string, error) {
	goFlags, err := s.output(ctx, "", nil, "go", "env", "GOFLAGS")
	if err != nil {
		return nil, err
	}
	folder, err := s.products(ctx, target, goFlags)
	if err != nil {
		return nil, err
	}
	var flags []string // the environment's would be replaced by one on the command line
	if linker := Flag(goFlags, "ldflags"); linker != "" && !slices.ContainsFunc(target.Flags, isLDFlags) {
		flags = []string{"-ldflags=" + linker}
	}
	flags = append(flags, target.Flags...)
	files := make([]string, max(1, layouts))
	build := func(i int) (err error) {
		seed := i + 1
		if len(files) == 1 {
			seed = 0
		}
		files[i], err = s.layout(ctx, target, folder, flags, seed)
		return err
	}
	// The first compiles, the others link what it has compiled.
	if err := build(0); err != nil {
		return nil, err
	}
	errs := make([]error, len(files))
	var group sync.WaitGroup
	slots := make(chan struct{}, runtime.NumCPU())
	for i := 1; i < len(files); i++ {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			errs[i] = build(i)
		})
	}
	group.Wait()
	return files, errors.Join(errs...)
}

// layout builds the target into the folder in the layout of a seed, 0 for the linker's own, unless
// it is there.
func (s *Source) layout(ctx context.Context, target Target, folder string, flags []string, seed int) (string, error) {
	file := filepath.Join(folder, fmt.Sprintf("layout%d%s", seed, suffix()))
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	// Two processes may build the same, and one may be interrupted: a file with its final name is
	// complete.
	unfinished, err := os.MkdirTemp(folder, "build-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(unfinished)
	product := filepath.Join(unfinished, "program"+suffix())
	arguments := []string{"build", "-buildvcs=false"}
	if target.Test {
		arguments = []string{"test", "-c", "-vet=off", "-buildvcs=false"}
	}
	arguments = append(append(arguments, "-o", product), withLDFlags(flags, seed)...)
	if _, err := s.Output(ctx, "go", append(arguments, target.Package)...); err != nil {
		return "", err
	}
	return file, os.Rename(product, file)
}

func suffix() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}

// withLDFlags adds the layout's seed, 0 for none, to the linker's flags in a go build's flags, and
// leaves out debugging information, which nothing reads and which takes a third of the linking
// time.
func withLDFlags(flags []string, seed int) []string {
	add := " -w"
	if seed > 0 {
		add += " -randlayout=" + strconv.Itoa(seed)
	}
	linker := ""
	others := slices.DeleteFunc(slices.Clone(flags), func(flag string) bool {
		if isLDFlags(flag) {
			_, linker, _ = strings.Cut(flag, "=")
		}
		return isLDFlags(flag)
	})
	return append(others, "-ldflags="+strings.TrimSpace(linker+add))
}

func isLDFlags(flag string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "=")
	return name == "ldflags"
}

// Flag is the value of a flag, or of its last, among those in GOFLAGS; "" for none.
func Flag(goFlags, name string) (value string) {
	for _, field := range quotedFields(goFlags) {
		if flag, is, _ := strings.Cut(strings.TrimLeft(field, "-"), "="); flag == name {
			value = is
		}
	}
	return value
}

// quotedFields splits at spaces that are not in quotes, as the go command does with GOFLAGS: a
// quote counts at the beginning of a field.
func quotedFields(text string) []string {
	var fields []string
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		field, rest, _ := strings.Cut(text, " ")
		if quote := text[:1]; quote == "'" || quote == `"` {
			if inner, after, closed := strings.Cut(text[1:], quote); closed {
				field, rest = inner, after
			}
		}
		fields, text = append(fields, field), rest
	}
	return fields
}

// products is the folder of what is built of the target: in the cache for a revision, else one that
// Close removes.
func (s *Source) products(ctx context.Context, target Target, goFlags string) (string, error) {
	// What determines the program besides the commit, which also fixes the toolchain in go.mod.
	environment, err := s.output(ctx, "", nil, "go", "env", "GOVERSION", "GOTOOLCHAIN", "GOOS", "GOARCH", "GOAMD64", "GOARM64", "GOARM", "GO386", "GOEXPERIMENT", "GOFLAGS",
		"GOFIPS140", "CGO_ENABLED", "CGO_CFLAGS", "CGO_CPPFLAGS", "CGO_CXXFLAGS", "CGO_LDFLAGS", "CC", "CXX")
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q", append([]string{s.Commit, s.below, target.Package, strconv.FormatBool(target.Test), strconv.Itoa(s.edits), environment, os.Getenv("GOWORK")}, target.Flags...))
	for _, flag := range append(quotedFields(goFlags), target.Flags...) {
		// The contents of a profile or an overlay count.
		if _, file, _ := strings.Cut(flag, "="); filepath.IsAbs(file) {
			if text, err := os.ReadFile(file); err == nil {
				fmt.Fprintf(h, "%x", sha256.Sum256(text))
			}
		}
	}
	key := hex.EncodeToString(h.Sum(nil))
	if s.top == "" || s.shared { // it may change
		scratch, err := s.temporary()
		if err != nil {
			return "", err
		}
		folder := filepath.Join(scratch, key)
		return folder, os.MkdirAll(folder, 0o777)
	}
	return cached(ctx, key)
}
