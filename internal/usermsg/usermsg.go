// Package usermsg is what the command `bring` and a suite tell each other of a user's own message.
package usermsg

import "context"

// A Message is a user's own: a protobuf message, or a Go struct.
type Message struct {
	// File is a FileDescriptorProto, encoded: the message is its first, and all that it reaches are
	// top-level types of the one file. Empty for a Go struct.
	File []byte
	// Package is the import path of a Go struct, and Type its name.
	Package, Type string

	Tree   string // root of this program's source, absolute
	Folder string // where generated files go, absolute
	// Config is the file that the program reads when it starts, a [Config] as JSON.
	Config string
}

// A Config is what a brought message's program is told when it starts.
type Config struct {
	Name     string            // what its cases call the message
	Of       string            // the message's full name
	Doc      string            // the message in a few words
	Samples  string            // file of samples, each after its length as a varint; of a Go struct's, each after its place
	Digest   string            // of that file, SHA-256 in hex
	Largest  int               // bytes of the largest sample in that file
	Baseline string            // the contender that others are compared with
	Lost     map[string]string // rows that are not possible for these samples, with why
}

// Code is what a suite makes of a user's message: files that take the place of the source's
// when it is built.
type Code struct {
	// Overlay has, for paths below the root of the source, the files that take their place, "" for
	// none.
	Overlay map[string]string
	// Main is the folder of the program, below the root; absolute for a Go struct, where it is a
	// module of its own.
	Main string
	Lost map[string]string
	// Part says whose a file is that does not compile, "" if no row can do without it.
	Part func(path string) string
	// Without is the same without one part, whose rows then give the reason.
	Without func(part, reason string) (*Code, error)
}

// A Maker makes code of a user's message.
type Maker func(ctx context.Context, m Message) (*Code, error)
