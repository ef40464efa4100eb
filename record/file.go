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

// Save writes the record to a file, in a folder that it makes if there is none, such that at every
// moment the file holds either what it held before or the whole record: to a temporary name beside
// it, synced, renamed.
func (r *Record) Save(name string) error {
	err := os.MkdirAll(filepath.Dir(name), 0o777)
	if err == nil {
		err = Replace(name, r)
	}
	if err != nil {
		return fmt.Errorf("save record %s: %w", name, err)
	}
	return nil
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
