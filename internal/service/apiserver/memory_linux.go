package apiserver

import "golang.org/x/sys/unix"

// volatile reports whether a folder's file system is in memory.
func volatile(dir string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(dir, &fs) == nil && (fs.Type == unix.TMPFS_MAGIC || fs.Type == unix.RAMFS_MAGIC)
}

// inMemory returns a folder in memory that has room for etcd, "" if there is none. Containers
// usually have 64 MB there. etcd's log alone fills that, and the server would start and then crash.
func inMemory() string {
	const shm, room = "/dev/shm", 512 << 20
	if !volatile(shm) || !hasRoom(shm, room) {
		return ""
	}
	return shm
}

// hasRoom reports whether we can write so many bytes below a folder.
func hasRoom(dir string, bytes uint64) bool {
	var fs unix.Statfs_t
	return unix.Statfs(dir, &fs) == nil && fs.Bavail*uint64(fs.Bsize) >= bytes && unix.Access(dir, unix.W_OK) == nil
}
