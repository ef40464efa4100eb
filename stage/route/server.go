package route

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"postage/internal/service/greeter"
	"postage/internal/sys/proc"
	"postage/stage/encode"
	"postage/stage/store"
)

// serverName is the name that a way's server is started by.
const serverName = "route"

// config says what the server does.
type config struct {
	work
	Listen greeter.Config
	Store  store.Address // none if it stores nothing
}

// ready is the server's first answer.
type ready struct {
	Addr    string
	Backend int // the database's process for its connection
}

// serve is the server, in a process of its own, a [proc.Server].
func (r *route) serve(stdin io.Reader, stdout io.Writer) error {
	in := bufio.NewReader(stdin)
	var c config
	if err := proc.ReadConfig(in, &c); err != nil {
		return err
	}
	s, err := newServer(r.Traffic, c)
	if err != nil {
		return proc.Refuse(stdout, err)
	}
	var at ready
	if s.call != nil {
		defer s.call.Close()
		at.Backend = s.call.Backend()
	}
	addr, counters, err := greeter.Listen(c.Listen, s.handle)
	if err != nil {
		return proc.Refuse(stdout, err)
	}
	at.Addr = addr
	return proc.Serve(in, stdout, at, func(json.RawMessage) (any, error) { return counters(), nil })
}

// server handles requests.
type server struct {
	end  *end
	mu   sync.Mutex  // codecs keep buffers from one message to the next
	call *store.Call // nil where nothing is stored
}

func newServer(traffic encode.Traffic, c config) (*server, error) {
	e, err := newEnd(traffic, c.work)
	if err != nil || c.Store.DSN == "" {
		return &server{end: e}, err
	}
	rows := e.rows // for their number
	if e.made != nil {
		rows = e.made[0].rows // which the floor writes
	}
	s := &server{end: e}
	s.call, err = store.OpenCall(context.Background(), c.Way.Call, c.Store, rows)
	return s, err
}

// handle answers a request.
func (s *server) handle(body []byte) (receipt []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.end.beforehand()
	if s.end.work.does(stepPack) || s.end.work.does(stepSeal) {
		if body, err = s.end.unpack(body); err != nil {
			return nil, err
		}
		if r != nil && len(body) != len(r.body) { // maps have no order
			return nil, fmt.Errorf("%d bytes were unpacked, want %d", len(body), len(r.body))
		}
	}
	var sum uint64
	rows := s.end.rows
	if r != nil {
		body, rows, sum = r.body, r.rows, r.sum
	}
	if s.end.work.does(stepDecode) {
		rows = s.end.rows
		if sum, err = s.end.decode(body); err != nil {
			return nil, err
		}
	}
	if s.end.work.does(stepStore) {
		if err := s.call.Write(rows); err != nil {
			return nil, err
		}
	}
	if r != nil && !s.end.work.does(stepEncode) {
		if sum != r.sum {
			return nil, fmt.Errorf("fields read sum up to %d, want %d", sum, r.sum)
		}
		return r.receipt, nil
	}
	data, err := s.end.messages.EncodeReceipt(sum, s.end.work.Msgs)
	return bytes.Clone(data), err // the library may still send it when the next one is made
}
