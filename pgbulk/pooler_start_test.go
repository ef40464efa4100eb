//go:build unix

package pgbulk_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"postage/pgbulk/pgtest"
)

// pooler is a program in front of the package's scratch cluster, with two server connections or so.
type pooler struct {
	dsn string
	dir string
}

// log is its log file.
func (p *pooler) log() string { return filepath.Join(p.dir, "log") }

var pgbouncerVersion = regexp.MustCompile(`PgBouncer (\d+)\.(\d+)`)

// program finds a program, or skips the test.
func program(t testing.TB, name, debian string) string {
	t.Helper()
	dsn(t, pgtest.Unix)
	for _, folder := range []string{"", "/usr/sbin/", "/usr/local/bin/"} {
		if path, err := exec.LookPath(folder + name); err == nil {
			return path
		}
	}
	inCI(t, "there is no "+name+": install Debian's package "+debian+", or your system's")
	return ""
}

// pgbouncer returns the program and its version, or skips the test.
func pgbouncer(t testing.TB) (path string, major, minor int) {
	t.Helper()
	path = program(t, "pgbouncer", "pgbouncer")
	out, err := exec.Command(path, "--version").Output()
	m := pgbouncerVersion.FindSubmatch(out)
	if err != nil || m == nil {
		t.Fatalf("%s --version: %v: %s", path, err, out)
	}
	major, _ = strconv.Atoi(string(m[1]))
	minor, _ = strconv.Atoi(string(m[2]))
	return path, major, minor
}

// startPgBouncer starts it in transaction mode with more settings.
func startPgBouncer(t testing.TB, path, settings string) *pooler {
	t.Helper()
	return startPooler(t, func(backend *pgx.ConnConfig, dir string, port int) (files map[string]string, args []string) {
		return map[string]string{"ini": fmt.Sprintf(`[databases]
postgres = host=%s port=%d user=%s dbname=postgres connect_query='set application_name to "pgbulk pooled"'
[pgbouncer]
listen_addr =
unix_socket_dir = %s
listen_port = %d
auth_type = any
pool_mode = transaction
default_pool_size = 2
max_client_conn = 100
server_login_retry = 0.1
%s
`, backend.Host, backend.Port, backend.User, dir, port, settings)}, []string{path, filepath.Join(dir, "ini")}
	})
}

// startPgpool starts pgpool-II in raw mode, which is a pool for one server, or skips the test.
func startPgpool(t testing.TB) *pooler {
	t.Helper()
	path := program(t, "pgpool", "pgpool2")
	return startPooler(t, func(backend *pgx.ConnConfig, dir string, port int) (files map[string]string, args []string) {
		pcp := freePort(t)
		return map[string]string{"pcp": "", "hba": "local all all trust\n", "conf": fmt.Sprintf(`backend_clustering_mode = 'raw'
listen_addresses = ''
port = %[1]d
%[2]s = '%[3]s'

pcp_port = %[4]d
pcp_socket_dir = '%[3]s'
pid_file_name = '%[3]s/pid'
logdir = '%[3]s'
work_dir = '%[3]s'
backend_hostname0 = '%[5]s'
backend_port0 = %[6]d
num_init_children = 12
max_pool = 1
`, port, "socket_dir", dir, pcp, backend.Host, backend.Port)},
			[]string{path, "-n", "-f", filepath.Join(dir, "conf"), "-F", filepath.Join(dir, "pcp"), "-a", filepath.Join(dir, "hba")}
	})
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// startPooler starts a program, whose arguments and files configure gives. Like PostgreSQL, poolers
// refuse to run as root.
func startPooler(t testing.TB, configure func(backend *pgx.ConnConfig, dir string, port int) (files map[string]string, args []string)) *pooler {
	t.Helper()
	backend, err := pgx.ParseConfig(dsn(t, pgtest.Unix))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/tmp", "pgbulk-pooler-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	p := &pooler{dir: dir}
	port := freePort(t)
	files, args := configure(backend, dir, port)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.Create(p.log())
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() == 0 {
		// The cluster's owner: its socket's folder is private.
		var stat syscall.Stat_t
		if err := syscall.Stat(server.Dir(), &stat); err != nil {
			t.Fatal(err)
		}
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: stat.Uid, Gid: stat.Gid}
		if err := os.Chown(dir, int(stat.Uid), int(stat.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // its children too
		cmd.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(p.log())
			lines := strings.Split(strings.TrimSpace(string(text)), "\n")
			t.Logf("%s: %s", filepath.Base(args[0]), strings.Join(lines[max(0, len(lines)-20):], "\n"))
		}
	})
	p.dsn = fmt.Sprintf("host=%s port=%d user=%s dbname=postgres sslmode=disable", dir, port, backend.User)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		conn, err := pgx.Connect(t.Context(), p.dsn)
		if err == nil {
			conn.Close(t.Context())
			return p
		}
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(p.log())
			t.Fatalf("%s does not answer: %v\n%s", args[0], err, text)
		}
	}
}

func (p *pooler) connect(t testing.TB, mode pgx.QueryExecMode) *pgx.Conn {
	config, err := pgx.ParseConfig(p.dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.DefaultQueryExecMode = mode
	for range 1000 { // a pooler whose servers are being killed may refuse a client
		conn, err := pgx.ConnectConfig(context.Background(), config)
		if err == nil {
			return conn
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the pooler refuses every client")
	return nil
}
