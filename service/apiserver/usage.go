package apiserver

import "errors"

// ErrNotAvailable is wrapped by what cannot be told of a server.
var ErrNotAvailable = errors.New("not available")
