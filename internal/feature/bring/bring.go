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
// The program that is built has run, list, show and the rest for the message's rows.
package bring

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// refuse says what in a schema cannot be brought, and where it is, if that is known.
func refuse(d protoreflect.Descriptor, format string, args ...any) error {
	place := d.ParentFile().Path()
	if loc := d.ParentFile().SourceLocations().ByDescriptor(d); loc.Path != nil {
		place = fmt.Sprintf("%s:%d", place, loc.StartLine+1)
	}
	return fmt.Errorf("%s: %s", place, fmt.Sprintf(format, args...))
}
