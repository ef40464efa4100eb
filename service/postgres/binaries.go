package postgres

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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

// findBinaries returns the folder of initdb and postgres, or "" if there is none. It is an error if the folder
// that the caller named has not got them.
func findBinaries(o Options) (string, error) {
	if o.BinDir != "" {
		if !hasServer(o.BinDir) {
			return "", fmt.Errorf("no initdb and postgres in %s", o.BinDir)
		}
		return o.BinDir, nil
	}
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		if dir := strings.TrimSpace(string(out)); hasServer(dir) {
			return dir, nil
		}
	}
	if initdb, err := exec.LookPath("initdb"); err == nil {
		// A link on PATH leads to the folder that the programs look for each other in.
		if real, err := filepath.EvalSymlinks(initdb); err == nil && hasServer(filepath.Dir(real)) {
			return filepath.Dir(real), nil
		}
	}
	var dirs []string
	folders := o.folders
	if folders == nil {
		folders = usualFolders
	}
	for _, pattern := range folders {
		found, _ := filepath.Glob(pattern) // the patterns are well-formed
		slices.SortFunc(found, func(a, b string) int { return cmp.Compare(major(b), major(a)) })
		dirs = append(dirs, found...)
	}
	for _, dir := range dirs {
		if hasServer(dir) {
			return dir, nil
		}
	}
	return "", nil
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

func hasServer(dir string) bool {
	for _, name := range []string{"initdb", "postgres", "pg_ctl"} {
		if runtime.GOOS == "windows" {
			name += ".exe"
		}
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.IsDir() {
			return false
		}
	}
	return dir != ""
}

// installHint is the command that installs PostgreSQL on this machine.
func installHint() string {
	for _, manager := range []struct{ program, command string }{
		{"apt-get", "apt-get install postgresql"},
		{"dnf", "dnf install postgresql-server"},
		{"apk", "apk add postgresql"},
		{"pacman", "pacman -S postgresql"},
		{"zypper", "zypper install postgresql-server"},
		{"brew", "brew install postgresql@17"},
	} {
		if _, err := exec.LookPath(manager.program); err == nil {
			return "install it with: " + manager.command + "  (or name a server of yours with --dsn or in POSTAGE_DSN)"
		}
	}
	return "install PostgreSQL, or name a server of yours with --dsn or in POSTAGE_DSN"
}
