package load

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/metadata"
)

// Request is a request to send.
type Request struct {
	Method string
	URL    *url.URL // its scheme says whether TLS is used: http or https
	Header http.Header
	Body   []byte
}

// check completes a request and rejects what its protocol does not allow.
func (r *Request) check(proto string) error {
	if r.Header = r.Header.Clone(); r.Header == nil {
		r.Header = http.Header{}
	}
	r.Method = cmp.Or(r.Method, http.MethodGet)
	if u := r.URL.User; u != nil && r.Header.Get("Authorization") == "" {
		password, _ := u.Password()
		r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password)))
	}
	for name, values := range r.Header {
		if strings.ContainsAny(name, " \t\r\n:") || name == "" {
			return fmt.Errorf("%q is not the name of a header field", name)
		}
		for i, value := range values {
			if strings.ContainsAny(value, "\r\n\x00") {
				return fmt.Errorf("header field %s: its value has more than one line", name)
			}
			if proto == "grpc" && isBinary(name) {
				values[i] = strings.TrimRight(value, "=") // gRPC sends no padding
				if _, err := base64.RawStdEncoding.DecodeString(values[i]); err != nil {
					return fmt.Errorf("header field %s: want base64, as gRPC sends it: %w", name, err)
				}
			}
		}
		switch strings.ToLower(name) {
		case "grpc-encoding":
			return errors.New("header field grpc-encoding: messages are not compressed")
		case "content-length", "transfer-encoding":
			return fmt.Errorf("header field %s: it is made from the body", name)
		case "connection", "keep-alive", "proxy-connection", "upgrade":
			if proto != "http1" {
				return fmt.Errorf("header field %s is not allowed in HTTP/2 (RFC 9113 section 8.2.2)", name)
			}
		}
	}
	return nil
}

// host returns the host that the request names: from the header, or else from the URL.
func (r *Request) host() string {
	return cmp.Or(r.Header.Get("Host"), r.URL.Host)
}

// fields returns the header's fields in the form of HTTP/2, sorted by name.
func (r *Request) fields() []hpack.HeaderField {
	var out []hpack.HeaderField
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if name == "Host" {
			continue
		}
		for _, value := range r.Header[name] {
			out = append(out, hpack.HeaderField{Name: strings.ToLower(name), Value: value})
		}
	}
	return out
}

// metadata returns the header's fields in the form of grpc-go.
func (r *Request) metadata() metadata.MD {
	md := metadata.MD{}
	for name, values := range r.Header {
		if name == "Host" {
			continue
		}
		for _, value := range values {
			if isBinary(name) { // which grpc-go encodes
				data, _ := base64.RawStdEncoding.DecodeString(value)
				value = string(data)
			}
			md.Append(name, value)
		}
	}
	return md
}

func isBinary(name string) bool { return strings.HasSuffix(strings.ToLower(name), "-bin") }

// ParseBody reads a regular expression that bodies have to match (body~ok) or not (body!~errors).
// found is false if the text is neither.
func ParseBody(text string) (check func(body []byte) error, found bool, err error) {
	pattern, without := strings.CutPrefix(text, "body!~")
	if !without {
		if pattern, found = strings.CutPrefix(text, "body~"); !found {
			return nil, false, nil
		}
	}
	matches, err := regexp.Compile(pattern)
	if err != nil {
		return nil, true, err
	}
	return func(body []byte) error {
		switch matched := matches.Match(body); {
		case matched && without:
			return fmt.Errorf("the body matches %s", pattern)
		case !matched && !without:
			return fmt.Errorf("the body does not match %s", pattern)
		}
		return nil
	}, true, nil
}

// ParseStatuses reads statuses such as "2xx,304".
func ParseStatuses(text string) (func(status int) bool, error) {
	var expected [600]bool
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		first, err := strconv.Atoi(strings.Replace(part, "xx", "00", 1))
		if err != nil || first < 200 || first > 599 {
			return nil, fmt.Errorf("%q: want statuses such as 2xx,304", part)
		}
		last := first
		if strings.HasSuffix(part, "xx") {
			last += 99
		}
		for status := first; status <= last; status++ {
			expected[status] = true
		}
	}
	return func(status int) bool { return status > 0 && status < len(expected) && expected[status] }, nil
}
