// Package encode measures what it costs to turn a Go value into bytes and back, codec against
// codec.
//
// # Messages
//
// Each message has one source, a .proto file in folder schema. Every codec's types are generated
// from it (see package codegen), so all codecs have the same fields.
//
//   - benchmark: the message of the page that compares Polyglot with protobuf; one value
//   - tiny: three scalars
//   - order: a business document with optional fields, a map and Unicode text, 1 to 2 KB
//   - metrics: a thousand samples in two packed columns
//   - blob: 64 KiB of bytes
//
// Four more are messages that others publish, for protobuf's libraries alone: hello, a tiny request;
// traces, OpenTelemetry's request with ten spans; pod, a Kubernetes Pod; cluster, Envoy's. Each is
// one value, a text in schema/published. Their types come from the descriptors in the publishers' Go
// modules, and lack those fields of message types that the value does not set. What is decoded of
// them is not read, because these libraries decode every field at once.
//
// Except for benchmark and these four, a corpus of distinct messages is drawn from the run's seed. The
// operations go through it in turn, so no codec benefits from seeing one message only.
//
// # Operations
//
//   - encode: from the library's own Go value to bytes, into a kept buffer if the library can do
//     that
//   - decode: from bytes into a fresh value, every field of which is then read
//   - read-some: the same, but two fields of an order's thirty are read, a text and a number inside
//     a part: what formats are for that decode only what is asked for
//   - decode-reuse: as decode, into a kept value, for libraries that can do that
//   - validate: decode, then compare every field with the original, as the published page does with
//     its two codecs
//   - pack: encode and compress, then decompress, decode and read every field; protobuf and JSON
//     have a case of their own, which compares compressions with no compression
//
// A message has a case for each operation that its figures say something about: three scalars have
// no part that a kept value could keep, and random bytes cannot be compressed.
//
// Every field is read because some formats decode nothing until a field is asked for. Timing only
// their decode call would time nothing. All contenders read with functions from the same generator.
//
// # Proof
//
// Prove runs the timed loop itself over the whole corpus, one message at a time. It compares each
// result with the original, a plain Go struct, using generated code that no codec has a part in.
// Output buffers are overwritten before each message, so that bytes of an earlier one do not pass.
// Codecs of protobuf's wire format must also agree with protobuf. A decoder must read all fields
// correctly, must own what it returns unless its name says alias=yes, and must treat unusual input
// as its Properties say:
//
//   - corrupted-input: "error" if it refuses every truncated message and does not panic for any
//     changed bit, "partly" if it accepts some truncated messages, "panics", or "unbounded-memory"
//     if it allocates whatever a damaged length asks for
//   - loses: the values, from a list of edge cases, that do not survive
//   - invalid-utf8: what it does with text that is not UTF-8: "error", "kept", "replaced"
//
// A packed message must also be readable by a second reader that has seen no other message. Every
// field of the result is compared, and read as in decode.
//
// # Packing
//
// Compressors, decompressors and buffers are kept and reset. None starts goroutines: zstd has
// concurrency 1. Each message is packed alone, with the checksums that the libraries write by
// default. Levels have the numbers of the zstd and gzip programs; the zstd library calls its levels
// fastest (1) and default (3). S2 writes blocks.
//
// # Fairness
//
// This package is opinionated. A buffer that a library can reuse is reused; a value that must be
// fresh is allocated. All protobuf codecs decode the very same bytes. No row reuses something that
// the row beside it must allocate, unless its name or its case says so.
//
// Note: one interface with Marshal and Unmarshal for all libraries would be less code. But it would
// add a call through an interface to operations of ten nanoseconds. The cost is the same for all,
// so it would move ratios towards 1. Each contender therefore has its own loop around its library's
// calls.
package encode

//go:generate go run ./internal/encodegen
