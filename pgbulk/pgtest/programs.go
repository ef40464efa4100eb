package pgtest

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// usualFolders are where packages put PostgreSQL's server programs without putting them on PATH.
var usualFolders = []string{
	"/usr/lib/postgresql/*/bin",          // Debian, Ubuntu
	"/usr/pgsql-*/bin",                   // PGDG on Red Hat
	"/opt/homebrew/opt/postgresql@*/bin", // Homebrew on Apple silicon
	"/usr/local/opt/postgresql@*/bin",    // Homebrew on Intel
	"/opt/homebrew/bin",                  //
	"/usr/local/pgsql/bin",               // from source
	"/usr/libexec/postgresql*",           // Alpine
	"/Library/PostgreSQL/*/bin",          // EnterpriseDB
	"/Applications/Postgres.app/Contents/Versions/*/bin",
}

// Find returns the folder of PostgreSQL's server programs: what pg_config --bindir says, where the
// initdb on PATH is, or the newest folder where packages put them. Its error wraps ErrNone.
func Find() (string, error) { return find(usualFolders) }

func find(folders []string) (string, error) {
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		if dir := strings.TrimSpace(string(out)); HasPrograms(dir) {
			return dir, nil
		}
	}
	if initdb, err := exec.LookPath("initdb"); err == nil {
		// A link on PATH leads to the folder that the programs look for each other in.
		if real, err := filepath.EvalSymlinks(initdb); err == nil && HasPrograms(filepath.Dir(real)) {
			return filepath.Dir(real), nil
		}
	}
	var dirs []string
	for _, pattern := range folders {
		found, _ := filepath.Glob(pattern) // the patterns are well-formed
		slices.SortFunc(found, func(a, b string) int { return cmp.Compare(major(b), major(a)) })
		dirs = append(dirs, found...)
	}
	for _, dir := range dirs {
		if HasPrograms(dir) {
			return dir, nil
		}
	}
	return "", fmt.Errorf("%w (looked at pg_config --bindir, PATH and the usual folders)", ErrNone)
}

// major is the version number in a folder's name, 0 if there is none.
func major(dir string) int {
	digits := strings.FieldsFunc(dir, func(r rune) bool { return r < '0' || r > '9' })
	if len(digits) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(digits[0])
	return n
}

// HasPrograms reports whether a folder has the programs that make and run a server.
func HasPrograms(dir string) bool {
	for _, name := range []string{"initdb", "postgres", "pg_ctl"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.IsDir() {
			return false
		}
	}
	return dir != ""
}

// InstallHint says how a machine gets PostgreSQL.
const InstallHint = "install PostgreSQL's server programs (Debian: apt-get install postgresql)"
