// Package bring makes a user's own message into rows: what does our message cost, by each codec?
//
// The message comes as a .proto file, and with samples of it. It takes these steps:
//
//  1. [Load] reads the files. Options, services and extensions say nothing of a message's bytes and are left
//     out before anything is linked, so that files which only declare options need not be there.
//  2. [Normalise] rewrites what the message reaches into one file of top-level types whose names no generator
//     trips over. On the wire it is the same message.
//  3. [ReadSamples] reads samples as messages of the original files, and holds the rewritten ones against them.
//  4. [Workspace] builds this program anew, with code for the message that a suite generates in place of the suite's
//     own messages: by an overlay, so that the source is not touched.
//
// The program that comes out has run, list, report and the rest for the message's rows.
package bring

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// A Refusal is something about a schema that cannot be brought, with the place where it stands.
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

// refuse is a Refusal at the place of a descriptor.
func refuse(d protoreflect.Descriptor, format string, args ...any) error {
	r := &Refusal{File: d.ParentFile().Path(), What: fmt.Sprintf(format, args...)}
	if loc := d.ParentFile().SourceLocations().ByDescriptor(d); loc.Path != nil {
		r.Line = loc.StartLine + 1
	}
	return r
}
