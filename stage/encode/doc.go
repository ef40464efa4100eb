// Package encode measures what it costs to turn a Go value into bytes and back, codec against
// codec.
//
// # Messages
//
// Each message has one source, a .proto file in schema, from which every codec's types are
// generated; see codegen. All codecs thus work on the same fields.
//
//   - benchmark: the message of the page that compares Polyglot with protobuf, one value
//   - tiny: three scalars
//   - order: a business document with optional fields, a map and Unicode text, 1 to 2 KB
//   - metrics: a thousand samples in two packed columns
//   - blob: 64 KiB of bytes
//
// But for benchmark, a corpus of distinct messages is drawn from the run's seed and gone through in
// turn, so that no codec profits from seeing one message only.
//
// # Operations
//
//   - encode: from the library's own Go value to bytes, into a kept buffer if the
//     library can
//   - decode: from bytes into a fresh value, every field of which is then read
//   - decode-reuse: the same into a kept value, by libraries that know how
//   - validate: decode, then compare every field with the original
//   - pack: encode and compress, then decompress, decode and read every field; each codec
//     has a case of its own, compared with what it costs without compression
//
// Every field is read because some formats decode nothing until a field is asked for: to time only
// their decode call is to time nothing. All contenders read by functions that are generated alike.
//
// # Proof
//
// Prove runs the timed loop itself over the whole corpus, one message at a time, and compares what
// it leaves with the original, in a plain Go struct, by generated code that no codec has a part in.
// Output buffers are overwritten before each message, so that stale bytes do not pass. Codecs of
// protobuf's wire format must also agree with protobuf. A decoder has to sum up all fields rightly,
// has to own what it returns unless its name says alias=yes, and has to treat damaged input as its
// Properties say:
//
//   - corrupted-input: "error" if every truncated message is refused and no changed bit is
//     a panic, "partly" if some truncated messages are accepted, "panics", or
//     "unbounded-memory" if it allocates whatever a damaged length asks for
//   - loses: the values, of a list of edge cases, that do not survive
//   - invalid-utf8: what becomes of text that is not UTF-8: "error", "kept", "replaced"
//
// What is packed has to be read by a second reader, which has seen no message before, and every
// field of what comes back is compared and read as by decode.
//
// # Packing
//
// Compressors, decompressors and buffers are kept and reset, and none uses a goroutine of its own:
// zstd has concurrency 1. Each message is packed alone, with the checksums that the libraries write
// unless told otherwise. Levels are numbered as by the zstd and gzip programs; the zstd library
// calls its levels fastest (1) and default (3). S2 and Snappy write blocks, LZ4 frames with blocks
// of 64 KB.
//
// A dictionary holds up to 32 KB, half of the corpus at most. It is trained on one half of the
// corpus, and all rows are measured on the other. Its size is a column, since both ends have to
// hold it.
//
// # Fairness
//
// This package is opinionated. A buffer that a library can reuse is reused; a value that is asked
// for fresh is allocated. protobuf's formats all decode the very same bytes. No row reuses what the
// row beside it has to allocate, unless its name or its case says so.
//
// Note: it was tempting to hide the libraries behind one interface with Marshal and Unmarshal. That
// adds a call through an interface to operations that take ten nanoseconds, the same for all, and
// so draws ratios towards 1. Each contender therefore brings its own loop, written out around its
// library's calls.
package encode

//go:generate go run ./encodegen
