package apiserver

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// A folder in memory is taken only if there is room, as containers usually have 64 MB there.
func TestInMemory(t *testing.T) {
	dir := t.TempDir()
	if !hasRoom(dir, 1) {
		t.Errorf("%s has no room for a byte", dir)
	}
	if hasRoom(dir, 1<<62) {
		t.Errorf("%s has room for everything", dir)
	}
	if hasRoom(dir+"/none", 0) {
		t.Error("a folder that is not there has room")
	}
	if at := inMemory(); at != "" && !volatile(at) {
		t.Errorf("%s is not in memory", at)
	}
}

// With fsync, data is on a disk, and the server is told.
func TestFsync(t *testing.T) {
	t.Setenv("TMPDIR", "/var/tmp") // which is on a disk where /tmp may be in memory
	s := started(t, Options{Fsync: true})
	if volatile(s.scratch.dir) {
		t.Errorf("%s is in memory", s.scratch.dir)
	}
	if testKind() == KCP {
		return // which always syncs
	}
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", s.Reach().PID))
	if err != nil || !strings.Contains(string(command), "\x00--etcd-fsync=true\x00") {
		t.Errorf("%q, %v", command, err)
	}
}
