package claims

import (
	"slices"
)

// The pages.
const (
	webPush     = "go-fwebpush against webpush-go"
	contentType = "Kubernetes content types against kcp"
	polyglot    = "Polyglot against protobuf"
	writeBuffer = "pgconn write buffer (jackc/pgconn#137)"
	loopback    = "HTTP and gRPC on loopback"
)

// The cases that the claims are about.
const (
	sealPage     = "Seal/slice=page/page="
	benchmark    = "Encode/msg=benchmark/op="
	storeDirect  = "Store/op=direct/lib=pgproto3-v2/start="
	storeUpdate  = "Store/peer=postgres/phase=update/rows=1000/size=16KB/column=jsonb/compression=pglz/transport=unix/fsync=off/lib=pgx4/call=exec/start="
	sendPage     = "Send/slice=page/"
	sendKept     = sendPage + "tls=on/reuse=yes/proto="
	sendFresh    = sendPage + "tls=on/reuse=no/proto="
	sendKeptRaw  = sendPage + "tls=off/reuse=yes/proto="
	sendCert     = "Send/slice=cert/tls=on/reuse=no/resume=no/proto=http1/cert="
	oldImpl      = sealPage + "OldImpl"
	oneKilobyte  = storeDirect + "1KB/buffer=start"
	applyServer  = "Apply/server=generic/fsync=off/"
	applyCRUD    = applyServer + "op=crud/kind=configmap/inflight=1/as="
	applyList    = applyServer + "op=list100/kind=configmap/inflight=1/as="
	applyMistake = applyServer + "op=crud/kind=configmap/inflight=1/limiter=default/asked="
	// The page's ClusterRole with two rules.
	applySerialize = "Apply/serialize=encode/kind=clusterrole/as="
	likeThePage    = "the page's way"
	likeWithLike   = "like with like"
)

// timed compares the ratio of two rows' times with a published ratio.
func timed(what, row, base string, published float64) Measure {
	return Measure{What: what, Row: row, Base: base, Published: published, Of: Time}
}

// allocated compares what two rows allocate an operation with what was published: heap objects or
// bytes.
func allocated(what, row, base string, figure Figure, published, publishedBase float64) Measure {
	return Measure{What: what, Row: row, Base: base, Published: published / publishedBase, Of: figure}
}

// atMost marks a measure whose published ratio is an upper limit.
func atMost(m Measure) Measure {
	m.AtMost = true
	return m
}

// implied marks a measure that the page does not have, see [Measure.Implied].
func implied(m Measure) Measure {
	m.Implied = true
	return m
}

// All returns the 15 claims.
func All() []Claim { return slices.Concat(ofMessages(), ofCodecs(), ofServers()) }

func ofMessages() []Claim {
	return []Claim{
		{Number: 1, Page: webPush, Stage: "seal", Text: "the default is 2.5 times as fast as the old implementation",
			Why:      "its default shares one ephemeral key among all messages of an origin, the old implementation makes one for each; nothing is ever decrypted",
			Measures: []Measure{timed("default", sealPage+"DefaultConfig", oldImpl, 1/2.5)}},
		{Number: 2, Page: webPush, Stage: "seal", Text: "with both caches it is 15 times as fast",
			Why:      "its own table says 29.6 times the old implementation and 10.6 times the default",
			Measures: []Measure{timed("both caches", sealPage+"VapidAndLocalSecretCaching", oldImpl, 1.0/15)}},
		{Number: 3, Page: webPush, Stage: "seal", Text: "caching the local secret alone makes it 1.5 times as fast",
			Why:      "the token is signed anew for each message, and the public key computed anew for each signature",
			Measures: []Measure{timed("local secret", sealPage+"LocalSecretCaching", oldImpl, 1/1.5)}},
		{Number: 4, Page: webPush, Stage: "seal", Text: "with nothing cached it is no slower, with fewer allocations",
			Why: "its uncached rows compute the VAPID public key anew on every signature",
			Measures: []Measure{
				atMost(timed("nothing cached", sealPage+"NoCaching", oldImpl, 1)),
				atMost(allocated("nothing cached", sealPage+"NoCaching", oldImpl, Allocs, 1, 1))}},
		{Number: 5, Page: contentType, Stage: "apply", Text: "through the client the content type makes no difference",
			Why: "content type and limiter are set after the client was made: all rows send JSON through a limiter of 5 requests a second",
			Measures: []Measure{
				timed("YAML, with the page's mistake", applyMistake+"yaml", applyMistake+"json", 1),
				timed("protobuf, with the page's mistake", applyMistake+"protobuf", applyMistake+"json", 1),
				timed("CBOR, with the page's mistake", applyMistake+"cbor", applyMistake+"json", 1),
				implied(timed("YAML, without it", applyCRUD+"yaml", applyCRUD+"json", 1)),
				implied(timed("protobuf, without it", applyCRUD+"protobuf", applyCRUD+"json", 1)),
				implied(timed("CBOR, without it", applyCRUD+"cbor", applyCRUD+"json", 1)),
				implied(timed("YAML, a list of 100", applyList+"yaml", applyList+"json", 1)),
				implied(timed("protobuf, a list of 100", applyList+"protobuf", applyList+"json", 1)),
				implied(allocated("YAML, without it", applyCRUD+"yaml", applyCRUD+"json", Allocs, 1, 1))}},
		{Number: 6, Page: contentType, Stage: "apply", Text: "alone, protobuf : CBOR : JSON : YAML take 1 : 5.4 : 8.7 : 28.8",
			Why: "its serialization rows run their body once and divide by N",
			Measures: []Measure{
				timed("CBOR against protobuf", applySerialize+"cbor", applySerialize+"protobuf", 449.2/83.75),
				timed("JSON against protobuf", applySerialize+"json", applySerialize+"protobuf", 726.7/83.75),
				timed("YAML against protobuf", applySerialize+"yaml", applySerialize+"protobuf", 2412/83.75)}},
	}
}

func ofCodecs() []Claim {
	return []Claim{
		{Number: 7, Page: polyglot, Stage: "encode", Text: "polyglot encodes 2.75 times as fast as protobuf, without allocations",
			Why: "protobuf is made to sort its maps, polyglot is not",
			Measures: []Measure{
				timed(likeThePage, benchmark+"encode/codec=polyglot-go", benchmark+"encode/codec=protobuf/deterministic=yes", 1/2.75),
				implied(timed(likeWithLike, benchmark+"encode/codec=polyglot-go", benchmark+"encode/codec=protobuf", 1/2.75)),
				allocated(likeThePage, benchmark+"encode/codec=polyglot-go", benchmark+"encode/codec=protobuf/deterministic=yes", Allocs, 0, 13_312),
				allocated(likeThePage, benchmark+"encode/codec=polyglot-go", benchmark+"encode/codec=protobuf/deterministic=yes", Bytes, 0, 376_838)}},
		{Number: 8, Page: polyglot, Stage: "encode", Text: "polyglot decodes 3.35 times as fast as protobuf",
			Why: "polyglot decodes into an object whose parts it reuses, protobuf makes them anew",
			Measures: []Measure{
				timed(likeThePage, benchmark+"decode-reuse/codec=polyglot-go", benchmark+"decode-reuse/codec=protobuf", 1/3.35),
				implied(timed(likeWithLike, benchmark+"decode/codec=polyglot-go", benchmark+"decode/codec=protobuf", 1/3.35))}},
		{Number: 9, Page: polyglot, Stage: "encode", Text: "polyglot decodes and validates 1.97 times as fast as protobuf",
			Why: "the same; and what is compared with is formatted anew each time, on both sides",
			Measures: []Measure{
				timed(likeThePage, benchmark+"validate/codec=polyglot-go/value=kept/check=formatted", benchmark+"validate/codec=protobuf/value=kept/check=formatted", 1/1.97),
				implied(timed(likeWithLike, benchmark+"validate/codec=polyglot-go", benchmark+"validate/codec=protobuf", 1/1.97))}},
	}
}

func ofServers() []Claim {
	return []Claim{
		{Number: 10, Page: writeBuffer, Stage: "store", Text: "a buffer as large as the message encodes 40 times as fast, without allocations",
			Why: "one run of one or two operations, on an emulated processor",
			Measures: []Measure{
				timed("20 MB against 1 KB", storeDirect+"20MB/buffer=start", oneKilobyte, 0.93/37.6),
				allocated("20 MB against 1 KB", storeDirect+"20MB/buffer=start", oneKilobyte, Allocs, 0, 36)}},
		{Number: 11, Page: writeBuffer, Stage: "store", Text: "1 MB is no better than 1 KB",
			Why:      "one run of one or two operations",
			Measures: []Measure{atMost(timed("1 KB against 1 MB", oneKilobyte, storeDirect+"1MB/buffer=start", 1))}},
		{Number: 12, Page: writeBuffer, Stage: "store", Text: "end to end the large buffer is 1.39 times as fast with 5.6 times less memory",
			Why: "its first operation inserts, all others update; no other way to write the rows is tried",
			Measures: []Measure{
				timed("20 MB against 1 KB", storeUpdate+"20MB", storeUpdate+"1KB", 746.0/1035),
				allocated("20 MB against 1 KB", storeUpdate+"20MB", storeUpdate+"1KB", Bytes, 1, 5.6)}},
		{Number: 13, Page: loopback, Stage: "send", Text: "over a kept connection HTTP/1.1 is the cheapest: gRPC costs 1.6, HTTP/2 1.8, HTTP/3 3.6 times as much",
			Why: "codec and transport change together, and each worker has a connection of its own, so that nothing is multiplexed",
			Measures: []Measure{
				timed("gRPC, raw", sendKeptRaw+"grpc", sendKeptRaw+"http1", 9591.0/6054),
				timed("HTTP/2, raw", sendKeptRaw+"http2", sendKeptRaw+"http1", 10702.0/6054),
				timed("HTTP/3, TLS", sendKept+"http3", sendKept+"http1", 22874.0/6313)}},
		{Number: 14, Page: loopback, Stage: "send", Text: "TLS on a kept connection is nearly free",
			Why: "hello is so small that encryption hardly shows",
			Measures: []Measure{
				timed("HTTP/1.1", sendKept+"http1", sendKeptRaw+"http1", 6313.0/6054),
				timed("gRPC", sendKept+"grpc", sendKeptRaw+"grpc", 8938.0/9591),
				timed("HTTP/2", sendKept+"http2", sendKeptRaw+"http2", 10903.0/10702)}},
		{Number: 15, Page: loopback, Stage: "send", Text: "a fresh TLS connection costs about 900 µs whatever the protocol",
			Why: "the 900 µs are the signature by its RSA-4096 certificate",
			Measures: []Measure{
				timed("HTTP/2 against HTTP/1.1", sendFresh+"http2", sendFresh+"http1", 933833.0/895523),
				timed("gRPC against HTTP/1.1", sendFresh+"grpc", sendFresh+"http1", 928456.0/895523),
				implied(timed("another certificate, P-256 against RSA-4096", sendCert+"ecdsa-p256", sendCert+"rsa4096", 1))}},
	}
}
