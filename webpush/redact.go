package webpush

import (
	"fmt"
	"io"
	"log/slog"
)

// writeRedacted is the body of every Format method here: whatever the verb and
// its flags, the safe text is printed and nothing else.
func writeRedacted(f fmt.State, text string) {
	io.WriteString(f, text) //nolint:errcheck // fmt.State has nowhere to report it
}

// logRedacted is the body of every LogValue method here.
func logRedacted(text string) slog.Value { return slog.StringValue(text) }
