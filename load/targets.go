package load

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// newRequest matches the first line of a request.
var newRequest = regexp.MustCompile(`^[A-Z]+\s+\S+://`)

// ReadTargets reads requests in vegeta's format (https://github.com/tsenart/vegeta#http-format):
// lines with a method and a URL, header fields, "@file" for a body, and an empty line between
// requests. A body's file is looked for beside the targets' file.
func ReadTargets(path string) (out []Request, err error) {
	text, err := readAll(path)
	if err != nil {
		return nil, err
	}
	var r *Request
	n := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		n++
		fail := func(err error) error { return fmt.Errorf("%s:%d: %w", path, n, err) }
		name, value, field := strings.Cut(line, ":")
		switch {
		case strings.HasPrefix(line, "#"):
		case line == "":
			r = nil
		case r == nil || newRequest.MatchString(line): // vegeta needs no empty line
			method, address, _ := strings.Cut(line, " ")
			u, err := ParseURL(strings.TrimSpace(address))
			if err != nil {
				return nil, fail(fmt.Errorf("want a method and a URL: %w", err))
			}
			out = append(out, Request{Method: method, URL: u, Header: http.Header{}})
			r = &out[len(out)-1]
		case strings.HasPrefix(line, "@"):
			file := line[1:]
			if !filepath.IsAbs(file) {
				file = filepath.Join(filepath.Dir(path), file)
			}
			if r.Body, err = os.ReadFile(file); err != nil {
				return nil, fail(err)
			}
		case !field || name == "" || strings.ContainsAny(name, " \t"):
			return nil, fail(fmt.Errorf("%q: want name: value, @file, or an empty line before the next request", line))
		default:
			r.Header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no requests", path)
	}
	return out, nil
}

// readAll reads a file; "-" is standard input.
func readAll(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(os.Stdin)
	}
	return os.ReadFile(path)
}

var schemes = []string{"http", "https", "ws", "wss"}

// ParseURL reads the URL of a server. It may have {{name}} in it.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || !slices.Contains(schemes, u.Scheme) {
		return nil, fmt.Errorf("URL %q: want http://… or https://…", text)
	}
	return u, nil
}

// FillIn replaces {{name}} by the values of a file, in URLs, header fields and bodies: it returns
// each request with the first row, then each with the second, and so on. The first line of the CSV
// names the columns. If the rows need too much memory, the first ones are used, and left is true.
func FillIn(requests []Request, path string) (out []Request, rows int, left bool, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, false, err
	}
	reader := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	names, err := reader.Read()
	reader.ReuseRecord = true
	row := map[string]string{}
	for size := 0; err == nil; {
		line, wrong := reader.Read()
		if err = wrong; err != nil {
			break // also of a line with more or fewer fields
		}
		if size > mostExpanded {
			return out, rows, true, nil
		}
		for i, value := range line {
			row[names[i]] = value
		}
		rows++
		for i := range requests {
			r, err := requests[i].withRow(row)
			if err != nil {
				return nil, 0, false, fmt.Errorf("%s: row %d of the values %w", path, rows, err)
			}
			out = append(out, r)
			size += requestSize + len(r.Body) + len(r.URL.Path) + len(r.URL.RawQuery)
		}
	}
	switch {
	case !errors.Is(err, io.EOF):
		return nil, 0, false, fmt.Errorf("%s: %w", path, err)
	case rows == 0:
		return nil, 0, false, fmt.Errorf("%s has no rows of values", path)
	}
	return out, rows, false, nil
}

// mostExpanded is about how many bytes of memory expanded requests may take, and requestSize about
// how many one takes beside its texts.
const (
	mostExpanded = 256 << 20
	requestSize  = 1000
)

// withRow returns the request with a row's values. It is an error if the row has too few.
func (r Request) withRow(row map[string]string) (_ Request, err error) {
	filled := r.filled(placeholder, func(match string) (text string, known bool) {
		name := placeholder.FindStringSubmatch(match)[1]
		if strings.HasPrefix(name, ".") { // of an answer
			return "", false
		}
		if text, known = row[name]; !known {
			err = fmt.Errorf("has no %q; it has %s", name, strings.Join(slices.Sorted(maps.Keys(row)), ", "))
		}
		return text, known
	})
	return filled, err
}

var placeholder = regexp.MustCompile(`\{\{\s*([^{}]*?)\s*\}\}`)

var escapedPlaceholder = regexp.MustCompile(`(?:%7B|\{){2}.*?(?:%7D|\}){2}`)

// unescapeBraces unescapes the placeholders in part of a URL, and nothing else.
func unescapeBraces(text string) string {
	return escapedPlaceholder.ReplaceAllStringFunc(text, func(match string) string {
		plain, _ := url.PathUnescape(match)
		return plain
	})
}

// IsJSON reports whether a body is a JSON object or list, whatever {{name}} stands for in it.
func IsJSON(body []byte) bool {
	body = bytes.TrimSpace(body)
	if len(body) == 0 || body[0] != '{' && body[0] != '[' {
		return false
	}
	return json.Valid(placeholder.ReplaceAll(body, []byte("0")))
}

// escapeJSON escapes a value that stands within a string of JSON. Numbers and names stay the same.
func escapeJSON(value string) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // a string can always be encoded
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(out.String()), `"`), `"`)
}

// filled returns the request with values in place of what the pattern matches, each escaped for its
// place. What has no value stays.
func (r Request) filled(pattern *regexp.Regexp, value func(match string) (text string, known bool)) Request {
	fill := func(text string, escape func(string) string) string {
		return pattern.ReplaceAllStringFunc(text, func(match string) string {
			text, known := value(match)
			if !known {
				return match
			}
			return escape(text)
		})
	}
	same := func(s string) string { return s }
	u := *r.URL
	u.RawPath = fill(unescapeBraces(cmp.Or(u.RawPath, u.EscapedPath())), url.PathEscape)
	u.Path, _ = url.PathUnescape(u.RawPath)
	u.RawQuery = fill(unescapeBraces(u.RawQuery), url.QueryEscape)
	r.URL = &u
	header := http.Header{}
	for name, values := range r.Header {
		for _, v := range values {
			header.Add(name, fill(v, same))
		}
	}
	r.Header = header
	escape := same
	if IsJSON(r.Body) {
		escape = escapeJSON
	}
	r.Body = []byte(fill(string(r.Body), escape))
	return r
}
