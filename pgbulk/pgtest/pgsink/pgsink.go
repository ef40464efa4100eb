// Package pgsink is a PostgreSQL server that stores nothing: it speaks the wire protocol
// (https://www.postgresql.org/docs/current/protocol.html), reads all that a client writes, and
// answers as a server that does no work. It serves to measure the cost of a client alone.
//
// It asks for no password, prepares any statement, takes any COPY, and reports that commands
// affected no rows. [Server].Types gives parameters and columns their types by column name,
// or text. It knows the statements that bulk writers use (INSERT with VALUES or unnest, COPY,
// BEGIN, COMMIT and the like) and does not parse SQL.
package pgsink

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Server is a sink. Its fields must not be changed once it serves.
type Server struct {
	// Types are the OIDs of columns that are not text.
	Types map[string]uint32

	open sync.WaitGroup
	// described are the parameters' types of statements seen before, by text: drivers that prepare
	// a statement again for each use should not wait for the sink.
	described sync.Map
}

// Serve answers connections until l is closed, and returns when the last of them has ended.
func (s *Server) Serve(l net.Listener) error {
	defer s.open.Wait()
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("pgsink: %w", err)
		}
		s.open.Go(func() {
			defer c.Close()
			// An error ends this client's connection only.
			_ = (&session{server: s, r: bufio.NewReaderSize(c, 256<<10), w: bufio.NewWriter(c), status: 'I', statements: map[string]string{}}).run()
		})
	}
}

type session struct {
	server     *Server
	r          *bufio.Reader
	w          *bufio.Writer
	status     byte // of the transaction
	statements map[string]string
	bound      string   // the statement of the portal
	columns    []string // of the table that was looked at last
}

func (s *session) run() error {
	if err := s.startup(); err != nil {
		return err
	}
	for {
		kind, body, err := s.receive()
		if err != nil {
			return err
		}
		switch kind {
		case 'X':
			return nil
		case 'Q':
			err = s.query(cstring(body))
		case 'P':
			name := cstring(body)
			s.statements[name] = cstring(body[len(name)+1:])
			s.send(&pgproto3.ParseComplete{})
		case 'D':
			s.describe(body)
		case 'B': // only its head was read
			_, rest, _ := strings.Cut(string(body), "\x00")
			s.bound = s.statements[cstring([]byte(rest))]
			s.send(&pgproto3.BindComplete{})
		case 'E':
			s.execute(s.bound)
		case 'C':
			delete(s.statements, cstring(body[1:]))
			s.send(&pgproto3.CloseComplete{})
		case 'S':
			err = s.ready()
		case 'H':
			err = s.w.Flush()
		}
		if err != nil {
			return err
		}
	}
}

func (s *session) startup() error {
	var head [8]byte
	if _, err := io.ReadFull(s.r, head[:]); err != nil {
		return err
	}
	size, version := int(binary.BigEndian.Uint32(head[:])), binary.BigEndian.Uint32(head[4:])
	if size < 8 || size > 1<<16 || version != pgproto3.ProtocolVersion30 {
		return errors.New("pgsink: no startup message of protocol 3.0: TLS and cancelling are not for a sink")
	}
	if _, err := s.r.Discard(size - 8); err != nil {
		return err
	}
	s.send(&pgproto3.AuthenticationOk{})
	for _, p := range []pgproto3.ParameterStatus{{Name: "server_version", Value: "15.0 (pgsink)"}, {Name: "client_encoding", Value: "UTF8"},
		{Name: "standard_conforming_strings", Value: "on"}, {Name: "DateStyle", Value: "ISO, MDY"}, {Name: "integer_datetimes", Value: "on"}} {
		s.send(&p)
	}
	s.send(&pgproto3.BackendKeyData{ProcessID: 1, SecretKey: []byte{0, 0, 0, 1}})
	return s.ready()
}

// ready ends an answer.
func (s *session) ready() error {
	s.send(&pgproto3.ReadyForQuery{TxStatus: s.status})
	return s.w.Flush()
}

// headOfBind is how much of a Bind message is looked at: the names of portal and statement.
const headOfBind = 256

// receive reads a message. Of Bind and CopyData only the head is returned, and the rest is skipped.
func (s *session) receive() (kind byte, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(s.r, head[:]); err != nil {
		return 0, nil, err
	}
	size := int(binary.BigEndian.Uint32(head[1:])) - 4
	if size < 0 {
		return 0, nil, errors.New("pgsink: message of a negative size")
	}
	keep := size
	switch head[0] {
	case 'B':
		keep = min(size, headOfBind)
	case 'd':
		keep = 0
	}
	body = make([]byte, keep)
	if _, err := io.ReadFull(s.r, body); err != nil {
		return 0, nil, err
	}
	_, err = s.r.Discard(size - keep)
	return head[0], body, err
}

// send buffers a message.
func (s *session) send(m pgproto3.BackendMessage) {
	b, err := m.Encode(nil)
	if err == nil {
		s.w.Write(b) // an error shows at the next flush
	}
}

// query answers a simple Query message, which may hold several statements.
func (s *session) query(sql string) error {
	any := false
	for statement := range strings.SplitSeq(sql, ";") {
		statement = strings.TrimSpace(statement)
		if statement == "" || strings.HasPrefix(statement, "--") {
			continue
		}
		any = true
		if word(statement) == "copy" {
			if err := s.copyIn(); err != nil {
				return err
			}
			continue
		}
		s.execute(statement)
	}
	if !any {
		s.send(&pgproto3.EmptyQueryResponse{})
	}
	return s.ready()
}

func (s *session) copyIn() error {
	s.send(&pgproto3.CopyInResponse{OverallFormat: 1})
	if err := s.w.Flush(); err != nil {
		return err
	}
	for {
		kind, body, err := s.receive()
		switch {
		case err != nil:
			return err
		case kind == 'c':
			s.send(&pgproto3.CommandComplete{CommandTag: []byte("COPY 0")})
			return nil
		case kind == 'f':
			s.send(&pgproto3.ErrorResponse{Severity: "ERROR", Code: "57014", Message: "COPY from stdin failed: " + cstring(body)})
			return nil
		case kind == 'X':
			return io.EOF
		}
	}
}

// execute answers a statement.
func (s *session) execute(sql string) {
	tag := strings.ToUpper(word(sql))
	switch tag {
	case "BEGIN":
		s.status = 'T'
	case "COMMIT", "ROLLBACK":
		s.status = 'I'
	case "INSERT":
		tag = "INSERT 0 0"
	case "SELECT":
		if strings.Contains(sql, "pg_attribute") {
			s.attributes()
		}
		tag = "SELECT 0"
	}
	s.send(&pgproto3.CommandComplete{CommandTag: []byte(tag)})
}

// attributeColumns are the columns of the answer to pgbulk's question about a table.
var attributeColumns = []string{"attname", "type", "cast", "collation", "attribute flags", "type flags", "table flags, OID and name", "role", "process"}

// attributes answers pgbulk's question about a table. COPY straight into it is not as good as INSERT.
func (s *session) attributes() {
	for _, c := range s.columns {
		row := &pgproto3.DataRow{}
		for _, v := range []string{c, strconv.FormatUint(uint64(s.server.typeOf(c)), 10), "text", "0", "fff", "tfft", "ftfff1 public.t", "x", "none"} {
			row.Values = append(row.Values, []byte(v))
		}
		s.send(row)
	}
}

// describe answers with the types of a statement's parameters and columns.
func (s *session) describe(body []byte) {
	sql := s.bound
	if body[0] == 'S' {
		sql = s.statements[cstring(body[1:])]
		s.send(&pgproto3.ParameterDescription{ParameterOIDs: s.server.describe(sql)})
	}
	columns := s.server.results(sql)
	if len(columns) == 0 {
		s.send(&pgproto3.NoData{})
		return
	}
	if !strings.Contains(sql, "pg_attribute") {
		s.columns = columns
	}
	m := &pgproto3.RowDescription{}
	for _, c := range columns {
		m.Fields = append(m.Fields, pgproto3.FieldDescription{Name: []byte(c), DataTypeOID: s.server.typeOf(c), DataTypeSize: -1, TypeModifier: -1})
	}
	s.send(m)
}

const textOID = 25

func (s *Server) typeOf(column string) uint32 {
	if oid, ok := s.Types[column]; ok {
		return oid
	}
	return textOID
}

var (
	placeholder = regexp.MustCompile(`\$(\d+)(?:::([a-z]+(?:\[\])?))?`)
	into        = regexp.MustCompile(`(?is)^\s*insert\s+into\s+\S+\s*\(([^)]*)\)`)
	selected    = regexp.MustCompile(`(?is)^\s*select\s+(.*?)\s+from\s`)
	casts       = map[string]uint32{"text[]": 1009, "varchar[]": 1015, "jsonb[]": 3807, "json[]": 199, "bytea[]": 1001, "int[]": 1007,
		"text": 25, "varchar": 1043, "jsonb": 3802, "json": 114, "bytea": 17, "int": 23}
)

// describe is parameters, cached.
func (s *Server) describe(sql string) []uint32 {
	if types, ok := s.described.Load(sql); ok {
		return types.([]uint32)
	}
	types := s.parameters(sql)
	s.described.Store(sql, types)
	return types
}

// parameters are the types of a statement's parameters: their cast's, or the type of the column at
// their place in VALUES.
func (s *Server) parameters(sql string) []uint32 {
	var columns []string
	if m := into.FindStringSubmatch(sql); m != nil {
		columns = names(m[1])
	}
	var types []uint32
	for _, m := range placeholder.FindAllStringSubmatch(sql, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil || n < 1 || n > 65535 {
			continue
		}
		for len(types) < n {
			types = append(types, textOID)
		}
		if oid, ok := casts[m[2]]; ok {
			types[n-1] = oid
		} else if len(columns) > 0 {
			types[n-1] = s.typeOf(columns[(n-1)%len(columns)])
		}
	}
	return types
}

// results are the columns that a query returns.
func (s *Server) results(sql string) []string {
	m := selected.FindStringSubmatch(sql)
	switch {
	case m == nil:
		return nil
	case strings.Contains(sql, "pg_attribute"):
		return attributeColumns
	}
	return names(m[1])
}

func names(list string) []string {
	var names []string
	for n := range strings.SplitSeq(list, ",") {
		names = append(names, strings.Trim(strings.TrimSpace(n), `"`))
	}
	return names
}

// word is a statement's first word in lower case.
//
// Only the first word is looked at: a statement with its values in it may be very long.
func word(sql string) string {
	sql = strings.TrimLeftFunc(sql, unicode.IsSpace)
	if end := strings.IndexFunc(sql, unicode.IsSpace); end >= 0 {
		sql = sql[:end]
	}
	return strings.ToLower(sql)
}

func cstring(b []byte) string {
	s, _, _ := strings.Cut(string(b), "\x00")
	return s
}
