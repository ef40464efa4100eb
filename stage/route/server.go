package route

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"postage/internal/proc"
	"postage/internal/service/greeter"
	"postage/stage/store"
)

// serverName is the name that a way's server is started by.
const serverName = "route"

// config says what the server does.
type config struct {
	Listen     greeter.Config
	Way        way
	Msgs       int
	Seed       uint64
	DSN, Table string
	// Receipt, if set, is the answer to every request, with no other work than the floor's write.
	Receipt []byte
}

// ready is the server's first answer.
type ready struct {
	Addr     string
	Backends []int // the database's processes for its connection
}

// serve is the server, in a process of its own, a [proc.Server].
func serve(stdin io.Reader, stdout io.Writer) error {
	in := bufio.NewReader(stdin)
	var c config
	if err := proc.ReadConfig(in, &c); err != nil {
		return err
	}
	s, err := newServer(c)
	if err != nil {
		return proc.Refuse(stdout, err)
	}
	defer s.close()
	addr, counters, err := greeter.Listen(c.Listen, s.handle)
	if err != nil {
		return proc.Refuse(stdout, err)
	}
	return proc.Serve(in, stdout, ready{addr, s.backends()}, func(json.RawMessage) (any, error) { return counters(), nil })
}

// server handles requests.
type server struct {
	mu       sync.Mutex // codecs keep buffers from one message to the next
	receiver *receiver
	call     *store.Call // nil where nothing is stored
	receipt  []byte
}

func newServer(c config) (*server, error) {
	s := &server{receipt: c.Receipt}
	if c.DSN == "" {
		return s, nil
	}
	var err error
	if s.receiver, err = newReceiver(c.Way, c.Msgs, c.Seed); err != nil {
		return nil, err
	}
	s.call, err = openCall(c.Way, c.Msgs, c.Seed, c.DSN, c.Table)
	return s, err
}

// openCall opens the way's store call with the rows of the first request, which the floor writes.
func openCall(w way, msgs int, seed uint64, dsn, table string) (*store.Call, error) {
	sender, err := newClient(w, msgs, seed)
	if err != nil {
		return nil, err
	}
	r, err := newReceiver(w, msgs, seed)
	if err != nil {
		return nil, err
	}
	body, _, err := sender.request()
	if err != nil {
		return nil, err
	}
	if _, err := r.decode(body); err != nil {
		return nil, err
	}
	return store.OpenCall(context.Background(), w.Call, dsn, table, r.rows)
}

func (s *server) backends() []int {
	if s.call == nil {
		return nil
	}
	return s.call.Backends()
}

func (s *server) close() error {
	if s.call == nil {
		return nil
	}
	return s.call.Close()
}

// handle answers a request.
func (s *server) handle(body []byte) (receipt []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.receipt != nil {
		if s.call != nil {
			err = s.call.Write(s.receiver.rows)
		}
		return s.receipt, err
	}
	if s.receiver == nil {
		return nil, errors.New("route: the server has no place to store orders")
	}
	if s.receiver.unpack != nil {
		if body, err = s.receiver.unpack(body); err != nil {
			return nil, err
		}
	}
	sum, err := s.receiver.decode(body)
	if err != nil {
		return nil, err
	}
	if err := s.call.Write(s.receiver.rows); err != nil {
		return nil, err
	}
	data, err := s.receiver.orders.EncodeReceipt(sum, s.receiver.msgs)
	return bytes.Clone(data), err // the library may still send it when the next one is made
}
