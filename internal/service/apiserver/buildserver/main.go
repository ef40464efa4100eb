// Command buildserver builds an API server that package apiserver starts, unless it is built:
//
//	go run ./internal/service/apiserver/buildserver generic
//
// `postage run apply` does the same when needed; this is for CI, which builds it before the tests.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"postage/internal/service/apiserver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "buildserver: want one argument, generic, kcp or kubernetes")
		os.Exit(2)
	}
	if _, err := apiserver.Program(ctx, apiserver.Kind(os.Args[1]), os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "buildserver:", err)
		os.Exit(1)
	}
}
