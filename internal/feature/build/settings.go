package build

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// addFlag adds a flag of go build to GOFLAGS. Like all settings of a source, it is called before
// anything is built.
func (s *Source) addFlag(ctx context.Context, flag string) error {
	flags, err := s.output(ctx, "", nil, "go", "env", "GOFLAGS")
	if strings.Contains(flag, " ") {
		flag = "'" + flag + "'"
	}
	s.environment = append(s.environment, "GOFLAGS="+strings.TrimSpace(flags+" "+flag))
	return err
}

// OutsideModules has Go's files lie outside the module cache, where go build does not replace any:
// behind a link to them in the user's cache. It does nothing where they lie elsewhere.
func (s *Source) OutsideModules(ctx context.Context) error {
	text, err := s.Output(ctx, "go", "env", "GOROOT", "GOMODCACHE")
	root, modules, _ := strings.Cut(text, "\n")
	if err != nil || !within(strings.TrimSpace(modules), root) {
		return err
	}
	cache, err := CacheFolder(ctx)
	if err != nil {
		return err
	}
	link := filepath.Join(cache, "go", strings.NewReplacer(string(filepath.Separator), "-", ":", "-").Replace(root))
	if at, err := os.Readlink(link); err != nil || at != root {
		err := os.MkdirAll(filepath.Dir(link), 0o777)
		if err == nil {
			err = os.Symlink(root, link)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) { // another process made it
			return err
		}
	}
	s.root = link
	s.environment = append(s.environment, "GOROOT="+link, "GOTOOLCHAIN=local")
	return nil
}
