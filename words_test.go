package postage_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// archaic are words that a reader would have to look up, or stumbles over.
var archaic = regexp.MustCompile(`(?i)\b(reckon\w*|whoever|whomsoever|lest|nought|naught|barren|obituar\w+|wherein|wherefore|hitherto|in vain|be had|by now|no one's)\b`)

// notOurs are files that others wrote, and one that has the words.
var notOurs = regexp.MustCompile(`uplot|/testmessages/|^words_test\.go$`)

// Code, help texts, errors and documents use the usual word.
func TestPlainEnglish(t *testing.T) {
	kinds := []string{".go", ".md", ".gohtml", ".js", ".css", ".sql", ".proto", ".txtar", ".yml"}
	lines := 0
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == ".postage" || entry.Name() == "node_modules"):
			return filepath.SkipDir
		case entry.IsDir() || !slices.Contains(kinds, filepath.Ext(path)) || notOurs.MatchString(filepath.ToSlash(path)):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			lines++
			if word := archaic.FindString(line); word != "" {
				t.Errorf("%s:%d: %q: use the usual word", path, i+1, word)
			}
		}
		return nil
	})
	if err != nil || lines < 50_000 {
		t.Errorf("%d lines were read: %v", lines, err)
	}
}
