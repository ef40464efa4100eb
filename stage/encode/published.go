package encode

import (
	"bytes"
	"slices"
	"sync"

	"buf.build/go/hyperpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"postage/lab"
	"postage/stage/encode/internal/bind"
	"postage/stage/encode/internal/pb"
	"postage/stage/encode/internal/pbhook"
)

// publishedSuite returns the cases of messages that others publish, of protobuf's libraries alone.
func publishedSuite() []lab.Case {
	return slices.Concat(
		publishedCases[pb.Hello, pbhook.Hello]("hello", "the greeter's request"),
		publishedCases[pb.Traces, pbhook.Traces]("traces", "OpenTelemetry's request with ten spans"),
		publishedCases[pb.Pod, pbhook.Pod]("pod", "a Kubernetes Pod"),
		publishedCases[pb.Cluster, pbhook.Cluster]("cluster", "an Envoy Cluster"),
	)
}

// publishedCases returns the cases of one sample, whose corpus is its bytes. No code reads the fields
// of what was decoded, because none of these libraries leaves a field for later.
func publishedCases[V, H any, P vtMessage[V], Q pbfastMessage[H]](name, doc string) []lab.Case {
	_, _, again := reference[copied, V, P](bind.Form[copied, V]{})
	unmarshal := func(data []byte, m *copied) (err error) {
		m.data, err = again(data)
		return err
	}
	msg := &message[copied]{
		name: name, doc: doc, ops: []op{opEncode, opKept, opDecode}, foreign: true,
		samples: make([]copied, 1), count: 1,
		marshal:   func(m *copied) ([]byte, error) { return m.data, nil },
		unmarshal: unmarshal,
		diff: func(got, want *copied) string {
			if bytes.Equal(got.data, want.data) {
				return ""
			}
			return "its bytes differ"
		},
	}
	msg.prepare = sync.OnceValue(func() error { return unmarshal([]byte(published[name]), &msg.samples[0]) })
	plain := formOf[V, P](unmarshal)
	hooked := formOf[H, Q](unmarshal)
	hyper := bind.Hyperpb[copied]{
		Descriptor: P(new(V)).ProtoReflect().Descriptor,
		Form: func(protoreflect.MessageDescriptor) bind.Form[copied, hyperpb.Message] {
			return formOf[hyperpb.Message, *hyperpb.Message](unmarshal)
		},
	}
	return casesOf(msg, []contender[copied]{
		memcpy(msg),
		protobuf[copied, V, P](plain, false),
		vtprotobuf[copied, V, P](plain),
		pbFast[copied, H, Q](hooked, false),
		pbFast[copied, H, Q](hooked, true),
		pbFastHook[copied, H, Q](hooked),
		hyperPB(hyper, false),
		hyperPB(hyper, true),
	})
}

// formOf returns the form of a library's messages for plain messages that are bytes.
func formOf[V any, P interface {
	*V
	proto.Message
}](canonical func([]byte, *copied) error) bind.Form[copied, V] {
	return bind.Form[copied, V]{
		From: func(m *copied) *V {
			v := new(V)
			_ = proto.Unmarshal(m.data, P(v)) // if this failed, the proof would notice
			return v
		},
		To: func(v *V, m *copied) error {
			data, err := proto.Marshal(P(v))
			if err != nil {
				return err
			}
			return canonical(data, m)
		},
		Read: func(*V, *copied) (uint64, error) { return 0, nil },
	}
}
