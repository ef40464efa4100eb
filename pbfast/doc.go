// Package pbfast is the run time of the code that protoc-gen-pbfast generates: fast methods on the
// messages that protoc-gen-go makes. proto.Marshal and proto.Unmarshal use them, and they can be
// called directly. See docs/pbfast.md.
//
// Everything here except [Hooked] is for generated code.
package pbfast
