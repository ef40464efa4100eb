package encode

import "postage/stage/encode/internal/bind"

// copied is a message in the form that memcpy works on: its bytes, encoded by protobuf.
type copied struct{ data []byte }

// memcpy copies the bytes of the message as encoded by protobuf. Every encoder and decoder must
// touch these bytes at least once. It reads no fields.
func memcpy[M any](msg *message[M]) contender[M] {
	return &codec[M, copied]{
		name:     "floor=memcpy",
		can:      []op{opEncode, opDecode, opReuse},
		protobuf: true,
		floor:    true,
		unread:   true,
		form: bind.Form[M, copied]{
			From: func(m *M) *copied {
				data, _ := msg.marshal(m) // if this failed, the proof would notice
				return &copied{data: data}
			},
			To:   func(v *copied, m *M) error { return msg.unmarshal(v.data, m) },
			Read: func(*copied, *M) (uint64, error) { return 0, nil },
		},
		loops: loops[M, copied]{
			encode: func(r *run[M, copied], n int) error {
				for range n {
					v := r.value()
					r.out = r.room(len(v.data))
					copy(r.out, v.data)
				}
				return nil
			},
			decode: func(r *run[M, copied], n int) error {
				r.keep = true
				for range n {
					v := r.into()
					data := r.input()
					v.data = r.room(len(data))
					copy(v.data, data)
					r.out = v.data
					if err := r.took(); err != nil {
						return err
					}
				}
				return nil
			},
		},
	}
}
