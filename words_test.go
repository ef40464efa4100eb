package postage_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// archaic are words that a reader would have to look up, or stumbles over.
var archaic = regexp.MustCompile(`(?i)\b(reckon\w*|whoever|whomsoever|lest|nought|naught|barren|obituar\w+|wherein|wherefore|hitherto|in vain|be had|by now|no one's)\b`)

// notOurs are files that others wrote, and one that has the words.
var notOurs = regexp.MustCompile(`uplot|/testmessages/|^words_test\.go$`)

// Code, help texts, errors and documents use the usual word.
func TestPlainEnglish(t *testing.T) {
	kinds := []string{".go", ".md", ".gohtml", ".js", ".css", ".sql", ".proto", ".txtar", ".yml"}
	for path, lines := range textFiles(t, kinds) {
		if notOurs.MatchString(path) {
			continue
		}
		for i, line := range lines {
			if word := archaic.FindString(line); word != "" {
				t.Errorf("%s:%d: %q: use the usual word", path, i+1, word)
			}
		}
	}
}

// commentColumns is how wide a line of comment may be. A tab counts as four columns.
const commentColumns = 100

// otherWidth are files whose comments are not ours to wrap.
var otherWidth = regexp.MustCompile(`/testdata/`)

// Comments have one width. Generated files, directives and lines of one word are exempt.
func TestCommentWidth(t *testing.T) {
	comment := regexp.MustCompile(`^\t*// \S+ +\S`)
	for path, lines := range textFiles(t, []string{".go"}) {
		if otherWidth.MatchString(path) || slices.ContainsFunc(lines[:min(len(lines), 20)], func(line string) bool {
			return strings.HasPrefix(line, "// Code generated")
		}) {
			continue
		}
		for i, line := range lines {
			columns := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
			if columns > commentColumns && comment.MatchString(line) {
				t.Errorf("%s:%d: a comment of %d columns: wrap it at %d", path, i+1, columns, commentColumns)
			}
		}
	}
}

// textFiles are the lines of the repository's files with one of the extensions, by path.
func textFiles(t *testing.T, extensions []string) map[string][]string {
	t.Helper()
	files, count := map[string][]string{}, 0
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == ".postage" || entry.Name() == "node_modules"):
			return filepath.SkipDir
		case entry.IsDir() || !slices.Contains(extensions, filepath.Ext(path)):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		lines := strings.Split(string(text), "\n")
		files[filepath.ToSlash(path)] = lines
		count += len(lines)
		return nil
	})
	if err != nil || count < 50_000 {
		t.Fatalf("%d lines were read: %v", count, err)
	}
	return files
}
