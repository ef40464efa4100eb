package build

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	// cacheBytes is how much the cache may hold besides what is in use.
	cacheBytes = 4 << 30
	// inUse is how long a folder counts as in use after it was asked for.
	inUse = 24 * time.Hour
)

// cached makes the folder of a key in the cache, or finds it there, and removes the least recently
// used folders while there is too much.
func cached(key string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	root := filepath.Join(cache, "postage", "build")
	folder := filepath.Join(root, key)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return "", err
	}
	now := time.Now()
	return folder, errors.Join(os.Chtimes(folder, now, now), trim(root, cacheBytes, now.Add(-inUse)))
}

// trim removes folders of root, the least recently used first, until at most that many bytes are
// left. It removes none that was asked for since the given time.
func trim(root string, most int64, since time.Time) error {
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	type folder struct {
		name  string
		asked time.Time
		bytes int64
	}
	var folders []folder
	total := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // another has removed it
		}
		f := folder{name: filepath.Join(root, e.Name()), asked: info.ModTime()}
		_ = filepath.WalkDir(f.name, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				if info, err := d.Info(); err == nil {
					f.bytes += info.Size()
				}
			}
			return nil
		})
		folders, total = append(folders, f), total+f.bytes
	}
	slices.SortFunc(folders, func(a, b folder) int { return a.asked.Compare(b.asked) })
	for _, f := range folders {
		if total <= most || f.asked.After(since) {
			return nil
		}
		if err := os.RemoveAll(f.name); err != nil {
			return err
		}
		total -= f.bytes
	}
	return nil
}
