package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Load reads the record in a file.
func Load(name string) (*Record, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read record: %w", err)
	}
	defer f.Close()
	return Parse(f, name)
}

// Save writes the record to a file such that at every moment the file holds either what it held
// before or the whole record: to a temporary name beside it, synced, renamed.
func (r *Record) Save(name string) error {
	if err := Replace(name, r); err != nil {
		return fmt.Errorf("save record %s: %w", name, err)
	}
	return nil
}

// reserveBytes is the free space that a run needs for its record before it starts.
const reserveBytes = 8 << 20

// Reserve finds out whether a record can be saved under that name later on: it makes
// the folder, and writes and removes a file of the size of a large record beside it.
func Reserve(name string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot save the record: %w", err)
		}
	}()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	// Remove what a run that was killed while saving left behind.
	stale, _ := filepath.Glob(filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+"-*"))
	for _, file := range stale {
		_ = os.Remove(file)
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := f.Write(make([]byte, reserveBytes)); err != nil {
		return fmt.Errorf("it needs %d MiB of free space: %w", reserveBytes>>20, err)
	}
	return f.Sync()
}

// Replace writes a file such that at every moment it holds its old content or all of the new.
func Replace(name string, content io.WriterTo) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails once it is renamed
	_, err = content.WriteTo(f)
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
