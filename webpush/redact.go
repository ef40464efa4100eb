package webpush

import (
	"fmt"
	"io"
	"log/slog"
)

// writeRedacted is the body of every Format method here: for every verb and flag it prints only the
// safe text.
func writeRedacted(f fmt.State, text string) {
	io.WriteString(f, text) //nolint:errcheck // fmt.State has nowhere to report it
}

// logRedacted is the body of every LogValue method here.
func logRedacted(text string) slog.Value { return slog.StringValue(text) }
