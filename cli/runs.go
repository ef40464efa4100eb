package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"postage/record"
)

// runsFolder keeps records, below the current folder, unless the user names another.
const runsFolder = ".postage/runs"

// latestName points at the newest record in its folder.
const latestName = "latest"

func newRecordName(prefix string, now time.Time) string {
	return filepath.Join(runsFolder, prefix+now.Format("2006-01-02T150405")+".txt")
}

// hideRuns has git ignore the records, so that measuring does not make the working tree dirty.
func hideRuns() error {
	if err := os.MkdirAll(runsFolder, 0o777); err != nil {
		return err
	}
	name := filepath.Join(filepath.Dir(runsFolder), ".gitignore")
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(name, []byte("*\n"), 0o666)
}

// pointLatest makes latest point at the record. Where links cannot be made there is no latest, and
// `postage show` wants a name.
func pointLatest(name string) {
	if filepath.Dir(name) != filepath.Clean(runsFolder) {
		return
	}
	link := filepath.Join(runsFolder, latestName)
	temporary := link + ".new"
	_ = os.Remove(temporary)
	if os.Symlink(filepath.Base(name), temporary) == nil {
		_ = os.Rename(temporary, link)
	}
}

// loadRuns reads records as loadRun does.
func loadRuns(names []string) ([]*record.Record, error) {
	var runs []*record.Record
	for _, name := range names {
		rec, err := loadRun(name)
		if err != nil {
			return nil, err
		}
		runs = append(runs, rec)
	}
	return runs, nil
}

// loadRun reads a record by its file's name, or by its name in the runs folder. "" is the latest.
func loadRun(name string) (*record.Record, error) {
	if name == "" {
		rec, err := record.Load(filepath.Join(runsFolder, latestName))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, hinted(errors.New("there is no saved run below this folder"), "`postage run` makes one")
		}
		return rec, err
	}
	rec, err := record.Load(name)
	if errors.Is(err, fs.ErrNotExist) && filepath.Base(name) == name {
		for _, candidate := range []string{name, name + ".txt"} {
			if rec, err2 := record.Load(filepath.Join(runsFolder, candidate)); !errors.Is(err2, fs.ErrNotExist) {
				return rec, err2
			}
		}
		return nil, hinted(fmt.Errorf("there is no record %s here or in %s", name, runsFolder),
			"give the name of a record's file, or no name for the latest")
	}
	return rec, err
}
