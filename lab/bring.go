package lab

import "context"

// A Brought is a user's own message, for [Suite].Bring: a protobuf message, or a Go struct.
type Brought struct {
	// File is a FileDescriptorProto, encoded: the message is its first, and all that it reaches are
	// top-level types of the one file. Empty for a Go struct.
	File []byte
	// Package is the import path of a Go struct, and Type its name.
	Package, Type string

	Tree   string // root of this program's source, absolute
	Folder string // where generated files go, absolute
	// Config is the file that the program reads when it starts, a [BroughtConfig] as JSON.
	Config string
}

// A BroughtConfig is what a brought message's program is told when it starts.
type BroughtConfig struct {
	Name     string            // what its cases call the message
	Of       string            // the message's full name
	Doc      string            // the message in a few words
	Samples  string            // file of samples, each after its length as a varint; of a Go struct's, each after its place
	Digest   string            // of that file, SHA-256 in hex
	Warning  string            // what a reader of the figures must know of the samples, "" for nothing
	Largest  int               // bytes of the largest sample in that file
	Baseline string            // the contender that others are compared with
	Lost     map[string]string // rows that are not possible for these samples, with why
}

// BroughtCode is what a suite makes of a user's message: files that take the place of the source's
// when it is built.
type BroughtCode struct {
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
	Without func(part, reason string) (*BroughtCode, error)
}

// Bringer makes code of a user's message.
type Bringer func(ctx context.Context, b Brought) (*BroughtCode, error)
