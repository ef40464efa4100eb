//go:build unix

package pgtest

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// identity is the user that the server runs as; nil means the caller's.
type identity struct {
	uid, gid uint32
}

// serverUser picks the server's user: the caller's own, or an unprivileged one if that is root.
func serverUser() (*identity, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return &identity{uint32(uid), uint32(gid)}, nil
		}
	}
	return nil, errors.New("running as root, and there is neither a user postgres nor nobody to run the server as")
}

// own gives a file to the server's user.
func (id *identity) own(path string) error {
	if id == nil {
		return nil
	}
	return os.Chown(path, int(id.uid), int(id.gid))
}

// apply makes cmd run as the server's user, in a session of its own.
func (id *identity) apply(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if id != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: id.uid, Gid: id.gid}
	}
	cmd.Env = environment()
}

// environment is ours without PostgreSQL's variables, which would lead its programs to the user's
// data.
func environment() []string {
	var env []string
	for _, kv := range os.Environ() {
		if len(kv) < 2 || kv[:2] != "PG" {
			env = append(env, kv)
		}
	}
	return append(env, "LC_ALL=C", "TZ=UTC")
}

// startServer starts the server, by start if that is given. It writes its log in the folder that it
// runs in.
func startServer(cmd *exec.Cmd, start func(*exec.Cmd) error) (*process, error) {
	log, err := os.OpenFile(filepath.Join(cmd.Dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if start == nil {
		start = (*exec.Cmd).Start
	}
	if err := start(cmd); err != nil {
		return nil, err
	}
	p := &process{Process: cmd.Process, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// kill has the server shut down immediately, which is what SIGQUIT means to it, and waits for its
// end.
func kill(p *process) {
	_ = p.Signal(syscall.SIGQUIT) // none to another that has its id now
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
		_ = p.Process.Kill()
		<-p.done
	}
}
