package build

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// keptFor is how long a build is kept after it was last asked for. No run takes that long.
const keptFor = 48 * time.Hour

// CacheFolder keeps what is built: with the user's other caches or, without a home, in the go
// command's cache.
func CacheFolder(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache, err = Output(ctx, "", "go", "env", "GOCACHE")
	}
	return filepath.Join(cache, "postage"), err
}

// cached makes the folder of a key in the cache, or finds it there, and removes those that nobody
// has asked for lately.
func cached(ctx context.Context, key string) (string, error) {
	cache, err := CacheFolder(ctx)
	if err != nil {
		return "", err
	}
	root := filepath.Join(cache, "build")
	folder := filepath.Join(root, key)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return "", err
	}
	now := time.Now()
	return folder, errors.Join(os.Chtimes(folder, now, now), trim(root, now.Add(-keptFor)))
}

// trim removes what is in a folder and was last changed before that time.
func trim(root string, before time.Time) error {
	entries, err := os.ReadDir(root)
	for _, e := range entries {
		if info, failed := e.Info(); failed == nil && info.ModTime().Before(before) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(root, e.Name())))
		}
	}
	return err
}
