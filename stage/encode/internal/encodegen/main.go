// Command encodegen writes the generated code of the encode stage's own messages, and of messages
// that others publish: see package codegen.
//
//	cd stage/encode && go generate
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"postage/stage/encode/codegen"
)

func main() {
	ctx, tree := context.Background(), filepath.Join("..", "..")
	published, err := readPublished(ctx, tree)
	if err == nil {
		err = codegen.BuiltIn(ctx, tree, published)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "encodegen:", err)
		os.Exit(1)
	}
}
