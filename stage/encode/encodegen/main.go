// Command encodegen writes the generated code of the encode stage's own messages: see package
// codegen.
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
	if err := codegen.BuiltIn(context.Background(), filepath.Join("..", "..")); err != nil {
		fmt.Fprintln(os.Stderr, "encodegen:", err)
		os.Exit(1)
	}
}
