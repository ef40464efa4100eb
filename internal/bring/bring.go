// Package bring makes rows of a user's own message: what does our message cost, by each codec?
//
// The message comes as a .proto file, with samples of it. It takes these steps:
//
//  1. [Load] reads the files. Options, services and extensions do not change a message's bytes.
//     They are left out before anything is linked, so that files which only declare options may be
//     missing.
//  2. [Normalise] rewrites the message and the types it uses into one file of top-level types, with
//     names that work in every generator. Its wire format stays the same.
//  3. [ReadSamples] reads samples as messages of the original files, and checks them against the
//     rewritten message.
//  4. [Workspace] builds this program again, with code for the message that a suite generates in
//     place of its own messages. An overlay does that, so the source is not changed.
//
// The program that is built has run, list, report and the rest for the message's rows.
package bring

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// A Refusal says what in a schema cannot be brought, and where it is.
type Refusal struct {
	File string
	Line int // from 1, 0 if it is not known
	What string
}

func (r *Refusal) Error() string {
	if r.Line == 0 {
		return r.File + ": " + r.What
	}
	return fmt.Sprintf("%s:%d: %s", r.File, r.Line, r.What)
}

// refuse returns a Refusal at a descriptor's place.
func refuse(d protoreflect.Descriptor, format string, args ...any) error {
	r := &Refusal{File: d.ParentFile().Path(), What: fmt.Sprintf(format, args...)}
	if loc := d.ParentFile().SourceLocations().ByDescriptor(d); loc.Path != nil {
		r.Line = loc.StartLine + 1
	}
	return r
}
