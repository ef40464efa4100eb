package send

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"postage/internal/service/greeter"
	"postage/internal/service/greeter/hello"
	"postage/internal/service/tlscert"
	"postage/internal/sys/link"
	"postage/internal/sys/proc"
	"postage/lab"
	"postage/record"
)

// baseline is the contender that the others are compared with, unless a case varies something else.
const baseline = "proto=http1"

// Suite returns the stage's cases.
func Suite() lab.Suite {
	use := new(linkFlag)
	return lab.Suite{Stage: "send", Doc: "Bytes to another process: which protocol, TLS or not, connection kept or not?",
		Flags: use.flags, Choose: use.choose, Make: cases,
		Figures: figures(), Servers: map[string]proc.Server{greeter.Name: greeter.Serve, link.Name: link.Serve},
		Options: []lab.Option{
			{Name: "size", Values: []string{"1k", "hello", "64k", "1m"}},
			{Name: "inflight", Values: []string{"8", "1", "64"}},
			{Name: "answer", Values: []string{"100k", "1k", "5m"}},
		}}
}

func cases(set lab.Settings) []lab.Case {
	return slices.Concat(pageCases(), []lab.Case{tlsCase()}, reuseCases(), []lab.Case{bodyCase(), certCase(), resumeCase(), sizeCase(set["size"])},
		inflightCases(set.Int("inflight")), answerCases(set["answer"]))
}

// protocols are the page's four.
func protocols() []*transport {
	return []*transport{netHTTP1(), netHTTP2(), quicHTTP3(), grpcGo()}
}

// pageCases are the published page's table, including the rows it lacks: one case for each column.
func pageCases() []lab.Case {
	var cases []lab.Case
	for _, tls := range []bool{false, true} {
		for _, reuse := range []bool{true, false} {
			s := spec{tls: tls, cert: tlscert.RSA4096, reuse: reuse, resume: resumeNo, body: hello.JSON, secure: "raw"}
			kept := "kept"
			if !reuse {
				kept = "opened for each"
			}
			c := newCase("slice=page/tls="+onOff(tls)+"/reuse="+yesNo(reuse),
				fmt.Sprintf("The published page's hello with TLS %s (RSA-4096) on a connection %s: what does each protocol cost?", onOff(tls), kept))
			c.Headline = tls && reuse
			c.add(s, "", netHTTP1(), netHTTP2(), quicHTTP3())
			g := s
			g.body, g.secure = hello.Proto, "grpc"
			c.add(g, "", grpcGo())
			c.addFloors(s)
			cases = append(cases, c.Case)
		}
	}
	return cases
}

// fixed is what a case holds fixed, unless it varies that.
func fixed() spec {
	return spec{tls: true, cert: tlscert.ECDSAP256, reuse: true, resume: resumeNo, body: hello.Proto, secure: "raw"}
}

// tlsCase has every protocol with TLS and without.
func tlsCase() lab.Case {
	c := newCase("slice=tls/reuse=yes/size=hello", "On a kept connection: what does TLS add to each protocol?")
	c.Baseline = "proto=http1/tls=off"
	c.bound = func(_ *transport, suffix string) string {
		if suffix == "tls=on" {
			return "floor=tls"
		}
		return "floor=tcp"
	}
	for _, tls := range []bool{false, true} {
		s := fixed()
		s.tls = tls
		c.add(s, "tls="+onOff(tls), everyProtocol()...)
		c.add(s, "", rawTCPOr(tls))
	}
	return c.Case
}

// rawTCPOr returns the floor with TLS or without.
func rawTCPOr(tls bool) *transport {
	if tls {
		return rawTLS()
	}
	return rawTCP()
}

// reuseCases have every protocol on kept connections and on new ones.
func reuseCases() []lab.Case {
	var cases []lab.Case
	for _, tls := range []bool{false, true} {
		c := newCase("slice=reuse/tls="+onOff(tls)+"/resume=no/size=hello",
			"With TLS "+onOff(tls)+": what does a new connection for each hello cost over a kept one?")
		c.Baseline = "proto=http1/reuse=yes"
		c.bound = func(_ *transport, suffix string) string { return rawTCPOr(tls).name + "/" + suffix }
		for _, reuse := range []bool{true, false} {
			s := fixed()
			s.tls, s.reuse = tls, reuse
			c.add(s, "reuse="+yesNo(reuse), append(everyProtocol(), rawTCPOr(tls))...)
		}
		cases = append(cases, c.Case)
	}
	return cases
}

func bodyCase() lab.Case {
	c := newCase("slice=body/tls=on/reuse=yes/size=1k",
		"With JSON and protobuf over every protocol alike: how much of a protocol's cost is the codec's?")
	c.Baseline = "proto=http1/body=json"
	for _, body := range []hello.Codec{hello.JSON, hello.Proto} {
		s := fixed()
		s.size, s.body = 1<<10, body
		c.add(s, "body="+body.Name, everyProtocol()...)
	}
	s := fixed()
	s.size, s.body = 1<<10, hello.VTProto
	vt := grpcGo()
	vt.settings["codec"] = "vtprotobuf through CodecV2"
	c.add(s, "body=vtproto", vt)
	c.addFloors(s)
	return c.Case
}

// everyProtocol is every protocol by every library.
func everyProtocol() []*transport {
	return append(protocols(), fastHTTP1(), connectProto("http1"), connectProto("http2"),
		grpcWeb("http1"), grpcWeb("http2"), connectGRPC())
}

func certCase() lab.Case {
	c := newCase("slice=cert/tls=on/reuse=no/resume=no",
		"On a new TLS connection for each hello: how much of the time is the certificate's key?")
	c.Baseline = "proto=http1/cert=ecdsa-p256"
	c.bound = handshakeOrQUIC
	for _, kind := range tlscert.Kinds() {
		s := fixed()
		s.reuse, s.cert = false, kind
		c.add(s, "cert="+string(kind), append(protocols(), connectProto("http2"), handshakeAlone(), rawQUIC())...)
	}
	return c.Case
}

func resumeCase() lab.Case {
	c := newCase("slice=resume/tls=on/reuse=no/cert=ecdsa-p256",
		"On a new TLS connection for each hello: what does it save to resume a session, or to send with the first flight?")
	c.Baseline = "proto=http1/resume=no"
	c.bound = handshakeOrQUIC
	for _, r := range []resume{resumeNo, resumeYes, resumeEarly} {
		s := fixed()
		s.reuse, s.resume = false, r
		c.add(s, "resume="+string(r), append(protocols(), fastHTTP1(), connectProto("http2"), handshakeAlone(), rawQUIC())...)
	}
	return c.Case
}

func sizeCase(size string) lab.Case {
	s := fixed()
	s.size = bytesOf(size)
	c := newCase("slice=size/tls=on/reuse=yes/size="+size,
		"With a payload of "+size+" each way as protobuf on a kept TLS connection: which protocol carries it cheapest?")
	c.add(s, "", everyProtocol()...)
	c.addFloors(s)
	return c.Case
}

// inflightCases have so many operations under way at a time, over one connection and over as many.
func inflightCases(inflight int) []lab.Case {
	var cases []lab.Case
	for _, conns := range slices.Compact([]int{1, inflight}) {
		s := fixed()
		s.inflight, s.conns = inflight, conns
		c := newCase(fmt.Sprintf("slice=inflight/tls=on/reuse=yes/inflight=%d/conns=%d", inflight, conns),
			fmt.Sprintf("With %d hellos under way at a time over %d TLS connections: what is multiplexing worth?", inflight, conns))
		c.add(s, "", append(protocols(), fastHTTP1(), connectProto("http2"))...)
		c.addFloors(s)
		cases = append(cases, c.Case)
	}
	return cases
}

// answerCases have large answers to small requests, one and ten at a time over one connection.
func answerCases(answer string) []lab.Case {
	var cases []lab.Case
	for _, inflight := range []int{1, 10} {
		s := fixed()
		s.answer, s.inflight, s.conns = bytesOf(answer), inflight, 1
		c := newCase(fmt.Sprintf("slice=answer/tls=on/reuse=yes/answer=%s/inflight=%d", answer, inflight),
			strings.Replace(fmt.Sprintf("With %d answers of %s at a time on one kept TLS connection: which protocol is soonest done?", inflight, answer), "1 answers", "one answer", 1))
		c.Baseline = "proto=http2"
		c.add(s, "", append(protocols(), connectProto("http2"))...)
		if inflight > 1 {
			s.conns = 6
			c.add(s, "conns=6", netHTTP1())
		} else {
			c.addFloors(s)
		}
		cases = append(cases, c.Case)
	}
	return cases
}

// A builder makes a case.
type builder struct {
	lab.Case
	// bound, if set, names the floor that bounds a transport's row, for cases whose floors do
	// different work.
	bound func(t *transport, suffix string) string
}

// handshakeOrQUIC bounds new connections by the handshake of their kind. For QUIC that is a stream
// with one message.
func handshakeOrQUIC(t *transport, suffix string) string {
	if t.quic {
		return "floor=quic/" + suffix
	}
	return "floor=handshake/" + suffix
}

func newCase(name, doc string) *builder {
	return &builder{Case: lab.Case{Name: "Send/" + name, Doc: doc, Baseline: baseline, Value: record.ValueWall}}
}

// addFloors adds the floors that exist for such a spec.
func (b *builder) addFloors(s spec) {
	b.add(s, "", rawTCPOr(s.tls))
	if s.tls {
		b.add(s, "", rawQUIC())
	}
	if s.tls && !s.reuse {
		b.add(s, "", handshakeAlone())
	}
}

// add adds rows. suffix is what the case varies in the contenders' names, if anything.
func (b *builder) add(s spec, suffix string, transports ...*transport) {
	for _, t := range transports {
		b.Contenders = append(b.Contenders, b.row(t, s, suffix))
	}
}

func (b *builder) row(t *transport, s spec, suffix string) lab.Contender {
	row := lab.Contender{Name: t.name, Floor: t.floor, Module: t.module}
	if suffix != "" {
		row.Name += "/" + suffix
	}
	row.Settings = s.settings(t.settings)
	if b.bound != nil && !t.floor {
		row.OwnFloor = b.bound(t, suffix)
	}
	switch {
	case !s.tls && t.quic:
		row.NotPossible = noCleartext
	case s.resume == resumeEarly && !t.quic:
		row.NotPossible = "crypto/tls has no 0-RTT"
	default:
		row.Checks = checks
		row.Open = func(ctx context.Context, env lab.Env) (lab.Instance, error) {
			in, err := newInstance(ctx, t, s, env.Seed)
			if err != nil {
				return nil, fmt.Errorf("send: %s: %w", t.name, err)
			}
			return in, nil
		}
	}
	return row
}
