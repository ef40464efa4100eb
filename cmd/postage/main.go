//go:build !benchonly

// Postage tells a Go engineer what a message costs.
//
// Usage: see `postage --help`, or the README.
package main

import (
	"postage/cli"
	"postage/stage"
)

func main() { cli.Main(stage.Suites()...) }
