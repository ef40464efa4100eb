//go:build race

package encode

// The race detector enables checks of pointer arithmetic. They end the process when hyperpb v0.1.3
// validates UTF-8, because it converts a pointer near the end of a text to one that covers more
// bytes than are left.
const racing = true
