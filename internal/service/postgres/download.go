package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	embedded "github.com/fergusstrange/embedded-postgres"

	"postage/internal/sys/proc"
	"postage/pgbulk/pgtest"
)

// download fetches PostgreSQL's programs with embedded-postgres, once, and returns their folder.
//
// The library has no call that only downloads: its Start downloads, unpacks file by file, and then
// runs a cluster too. So it works in a temporary folder, and the programs are moved to their place
// once they are complete.
func download(ctx context.Context, o Options) (string, error) {
	cache := o.CacheDir
	if cache == "" {
		dir, err := os.UserCacheDir()
		if os.Geteuid() == 0 {
			dir, err = "/var/cache", nil // root's own cache is out of reach of the server's user
		}
		if err != nil {
			return "", fmt.Errorf("no folder for the download: %w", err)
		}
		cache = filepath.Join(dir, "postage", "postgres")
	}
	config := embedded.DefaultConfig().Version(embedded.V18)
	folder := filepath.Join(cache, string(embedded.V18))
	bin := filepath.Join(folder, "bin")
	if pgtest.HasPrograms(bin) {
		return bin, nil
	}
	port, err := proc.FreePort()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	run, err := os.MkdirTemp(cache, "fetch-")
	if err != nil {
		return "", err
	}
	programs := filepath.Join(run, "programs")
	config = config.CachePath(run).BinariesPath(programs).RuntimePath(filepath.Join(run, "run")).
		DataPath(filepath.Join(run, "data")).Port(uint32(port)).StartTimeout(20 * time.Second).Logger(io.Discard)
	from := "the Maven repository of embedded-postgres"
	if o.Repository != "" {
		config = config.BinaryRepositoryURL(o.Repository)
		from = o.Repository
	}
	fmt.Fprintf(o.Log, "postage: downloading PostgreSQL %s from %s into %s\n", embedded.V18, from, cache)
	fetched := make(chan error, 1)
	go func() {
		err := unpack(config, programs, folder)
		os.RemoveAll(run)
		fetched <- err
	}()
	select {
	case err = <-fetched:
	case <-ctx.Done(): // the library cannot be interrupted; its goroutine cleans up after itself
		return "", fmt.Errorf("download from %s: %w", from, context.Cause(ctx))
	}
	if err != nil {
		return "", fmt.Errorf("download from %s: %w", from, err)
	}
	return bin, nil
}

// unpack has the library fetch the programs, and moves them to folder if they are whole.
//
// The cluster that it starts is stopped at once. As root it does not start at all; that error is
// ignored.
func unpack(config embedded.Config, programs, folder string) error {
	db := embedded.NewDatabase(config)
	err := db.Start()
	if err == nil {
		err = db.Stop()
	}
	if err != nil && strings.Contains(err.Error(), "unable to extract") {
		return err
	}
	if !pgtest.HasPrograms(filepath.Join(programs, "bin")) {
		return cmp.Or(err, errors.New("no server programs in the archive"))
	}
	err = os.Rename(programs, folder)
	if err != nil && pgtest.HasPrograms(filepath.Join(folder, "bin")) {
		return nil // another process was first
	}
	return err
}
