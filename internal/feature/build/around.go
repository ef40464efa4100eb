package build

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// elsewhere matches a path in a go.mod or go.work that may lead out of the repository, as git grep
// prints it: commit, file and line.
var elsewhere = regexp.MustCompile(`(?m)^[^:]*:(.*):\s*(?:=>|use)?\s*(\S+)$`)

// lookAround finds what the revision's code is built with besides itself: the workspace of the
// working tree, unless each commit has its own, and folders that replace modules.
func (s *Source) lookAround(ctx context.Context) (err error) {
	s.around = s.top
	if s.work, err = Output(ctx, filepath.Join(s.top, s.below), "go", "env", "GOWORK"); err != nil {
		return err
	}
	if _, err := Output(ctx, s.top, "git", "ls-files", "--error-unmatch", s.work); s.work == "off" || err == nil && os.Getenv("GOWORK") == "" {
		s.work = ""
	}
	if s.work != "" {
		s.reach(filepath.Dir(s.work))
	}
	// git grep fails if it finds nothing.
	list, _ := Output(ctx, s.top, "git", "grep", "-E", "-o", `(=>|^[[:space:]]*use[[:space:]]|^)[[:space:]]*(\.\.|/[^/])[^[:space:]]*`, s.Commit, "--", "*go.mod", "*go.work")
	for _, m := range elsewhere.FindAllStringSubmatch(list, -1) {
		if filepath.IsAbs(m[2]) {
			s.shared = true // at the same place for both sides
		} else if target := filepath.Join(s.top, filepath.Dir(m[1]), m[2]); !within(s.top, target) {
			s.reach(filepath.Dir(target))
		}
	}
	return ctx.Err()
}

// Below is a path as seen from a folder that it is in.
func Below(folder, path string) (below string, in bool) {
	below, err := filepath.Rel(folder, path)
	return below, err == nil && filepath.IsLocal(below)
}

func within(folder, path string) bool {
	_, in := Below(folder, path)
	return in
}

// reach has a folder of the working tree's surroundings lie around the revision too.
func (s *Source) reach(folder string) {
	for s.shared = true; !within(s.around, folder); {
		s.around = filepath.Dir(s.around)
	}
}

// at is where a path in or around the working tree is for the revision.
func (s *Source) at(path string) string {
	below, _ := filepath.Rel(s.around, path) // no error: both are absolute
	return filepath.Join(s.scratch, "source", below)
}

// surround links what lies around the working tree to the same places around the revision's
// folder, and copies workspaces, to which the go command may write.
func (s *Source) surround() error {
	copied := []string{s.work, s.work + ".sum"}
	for below := s.top; below != s.around; below = filepath.Dir(below) {
		folder := filepath.Dir(below)
		if err := os.MkdirAll(s.at(folder), 0o777); err != nil {
			return err
		}
		entries, _ := os.ReadDir(folder) // one that cannot be read has nothing for the go command
		for _, e := range entries {
			if from := filepath.Join(folder, e.Name()); strings.HasPrefix(e.Name(), "go.work") {
				copied = append(copied, from)
			} else if from != below {
				if err := os.Symlink(from, s.at(from)); err != nil {
					return err
				}
			}
		}
	}
	for _, from := range copied {
		text, err := os.ReadFile(from)
		if _, there := os.Stat(s.at(from)); err != nil || there == nil {
			continue // the checksums need not exist
		}
		if err := os.WriteFile(s.at(from), text, 0o666); err != nil {
			return err
		}
	}
	return nil
}
