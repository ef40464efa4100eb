//go:build benchonly

package main

import "postage/cli"

// With the tag benchonly, the program has no stage: it is built in seconds, for `postage bench`.
func main() { cli.Main() }
