// Package pbfast is the run time of what protoc-gen-pbfast generates: methods on the messages that
// protoc-gen-go makes, behind proto.Marshal and proto.Unmarshal, and to call directly. See
// docs/pbfast.md.
//
// What is here is for generated code, but for [Hooked].
package pbfast
