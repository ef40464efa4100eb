package apply

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"postage/internal/service/apiserver"
	"postage/lab"
)

// testServer is the server on which the tests run: POSTAGE_APISERVER, or the default.
func testServer() apiserver.Kind {
	if kind := os.Getenv("POSTAGE_APISERVER"); kind != "" {
		return apiserver.Kind(kind)
	}
	return apiserver.Generic
}

// shared is the server that TestMain starts, nil if it is not built.
var shared *lab.Running

// TestMain starts the server that workers use. It does not build one, which takes minutes: CI and
// `postage run apply` do.
func TestMain(m *testing.M) {
	os.Setenv(gate, "true")
	if !apiserver.Built(testServer()) {
		if os.Getenv("CI") == "true" {
			fmt.Fprintf(os.Stderr, "the API server %s is not built, and CI builds it before the tests\n", testServer())
			os.Exit(1)
		}
		os.Exit(m.Run())
	}
	os.Exit(withServer(m.Run))
}

func withServer(run func() int) (code int) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	running, err := newService(new(serverFlags), testServer(), false).Start(ctx, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := running.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	shared = running
	for _, v := range running.Environment {
		name, value, _ := strings.Cut(v, "=")
		os.Setenv(name, value)
	}
	return run()
}

// needServer skips a test if there is no server.
func needServer(t testing.TB) {
	t.Helper()
	if shared == nil {
		t.Skipf("the API server %s is not built: `postage run apply` builds it, in about 8 minutes", testServer())
	}
}
