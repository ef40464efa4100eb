package build

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"
)

// cacheBytes is how much the cache may hold, without folders in use.
const cacheBytes = 4 << 30

// CacheFolder keeps what is built: with the user's other caches or, without a home, in the go
// command's cache.
func CacheFolder(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache, err = Output(ctx, "", "go", "env", "GOCACHE")
	}
	return filepath.Join(cache, "postage"), err
}

// cached makes the folder of a key in the cache, or finds it there, and removes the least recently
// used folders that no process uses while there is too much. The folder is in use until the lock
// is released.
func cached(ctx context.Context, key string) (string, *flock.Flock, error) {
	cache, err := CacheFolder(ctx)
	if err != nil {
		return "", nil, err
	}
	root := filepath.Join(cache, "build")
	if err := os.MkdirAll(root, 0o777); err != nil {
		return "", nil, err
	}
	folder, lock := filepath.Join(root, key), lockOf(root, key)
	// Another process has the lock for itself only while it removes the folder.
	if _, err := lock.TryRLockContext(ctx, 50*time.Millisecond); err != nil {
		return "", nil, err
	}
	now := time.Now()
	if err := errors.Join(os.MkdirAll(folder, 0o777), os.Chtimes(folder, now, now), trim(root, cacheBytes)); err != nil {
		return "", nil, errors.Join(err, lock.Close())
	}
	return folder, lock, nil
}

// lockOf is the lock of a folder in the cache, beside it: shared by those who use the folder. Its
// file, which is empty, stays when the folder is removed, as nobody can then hold the lock of a
// file that is gone.
func lockOf(root, key string) *flock.Flock { return flock.New(filepath.Join(root, key+".lock")) }

// trim removes folders of root, the least recently used first, until at most that many bytes are
// left. It leaves those whose lock another holds.
func trim(root string, most int64) error {
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	type folder struct {
		key   string
		asked time.Time
		bytes int64
	}
	var folders []folder
	total := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !e.IsDir() {
			continue // a lock, or another has removed it
		}
		f := folder{key: e.Name(), asked: info.ModTime()}
		_ = filepath.WalkDir(filepath.Join(root, f.key), func(_ string, d fs.DirEntry, err error) error {
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
		if total <= most {
			return nil
		}
		lock := lockOf(root, f.key)
		if free, err := lock.TryLock(); err != nil {
			return err
		} else if !free {
			continue
		}
		if err := errors.Join(os.RemoveAll(filepath.Join(root, f.key)), lock.Close()); err != nil {
			return err
		}
		total -= f.bytes
	}
	return nil
}
