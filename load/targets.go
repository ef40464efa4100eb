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
	"strconv"
	"strings"
)

// ReadTargets reads requests in either of vegeta's formats
// (https://github.com/tsenart/vegeta#http-format). One has lines: a method and a URL, header
// fields, "@file" for a body, and an empty line between requests. The other has one JSON object a
// line, with method, url, header and body in base64. A number before the method, or the field
// weight, says how many times as often as the others a request is sent. A body's file is looked for
// beside the targets' file.
func ReadTargets(path string) ([]Request, error) {
	text, err := readAll(path)
	if err != nil {
		return nil, err
	}
	read := readHTTPTargets
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		read = readJSONTargets
	}
	all, err := read(path, text)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no requests", path)
	}
	return mixed(path, all)
}

// readAll reads a file; "-" is standard input.
func readAll(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(os.Stdin)
	}
	return os.ReadFile(path)
}

// A weighed request is sent so many times as often as one of weight 1.
type weighed struct {
	Request
	weight int
}

// mostMixed is how long the sequence of a mix may be.
const mostMixed = 10_000

// mixed names the targets, and returns a sequence that has each as often as its weight says, spread
// evenly: next comes the one that is furthest behind its share.
func mixed(path string, all []weighed) (out []Request, err error) {
	total, named := 0, map[string]int{}
	for i := range all {
		r := &all[i]
		if r.weight < 1 || r.weight > mostMixed {
			return nil, fmt.Errorf("%s: request %d: its weight is %d: want 1 to %d", path, i+1, r.weight, mostMixed)
		}
		total += r.weight
		r.Target = cmp.Or(r.Method, http.MethodGet) + " " + unescapeBraces(r.URL.RequestURI())
		if named[r.Target]++; named[r.Target] > 1 {
			r.Target += fmt.Sprintf(" (%d)", named[r.Target])
		}
	}
	if total > mostMixed && total > len(all) {
		return nil, fmt.Errorf("%s: the weights' sum is %d: want at most %d, in lowest terms", path, total, mostMixed)
	}
	if total == len(all) {
		for i := range all {
			out = append(out, all[i].Request)
		}
		return out, nil
	}
	credit := make([]int, len(all))
	for range total {
		best := 0
		for i := range all {
			if credit[i] += all[i].weight; credit[i] > credit[best] {
				best = i
			}
		}
		credit[best] -= total
		out = append(out, all[best].Request)
	}
	return out, nil
}

var schemes = []string{"http", "https", "ws", "wss"}

// ParseURL reads the URL of a server, in which {{name}} may stand for a value.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || !slices.Contains(schemes, u.Scheme) {
		return nil, fmt.Errorf("URL %q: want http://… or https://…", text)
	}
	return u, nil
}

// newRequest matches the first line of a request.
var newRequest = regexp.MustCompile(`^([0-9]+ +)?[A-Z]+\s+\S+://`)

func readHTTPTargets(path string, text []byte) (out []weighed, err error) {
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
			weight := 1
			if first, rest, ok := strings.Cut(line, " "); ok {
				if n, err := strconv.Atoi(first); err == nil {
					weight, line = n, strings.TrimSpace(rest)
				}
			}
			method, address, _ := strings.Cut(line, " ")
			u, err := ParseURL(strings.TrimSpace(address))
			if err != nil {
				return nil, fail(fmt.Errorf("want a method and a URL: %w", err))
			}
			out = append(out, weighed{Request{Method: method, URL: u, Header: http.Header{}}, weight})
			r = &out[len(out)-1].Request
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
	return out, nil
}

func readJSONTargets(path string, text []byte) (out []weighed, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	for n := 1; ; n++ {
		var target struct {
			Method string
			URL    string
			Header http.Header
			Body   []byte
			Weight int
		}
		target.Weight = 1
		if err := decoder.Decode(&target); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: request %d: %w", path, n, err)
		}
		u, err := ParseURL(target.URL)
		if err != nil {
			return nil, fmt.Errorf("%s: request %d: %w", path, n, err)
		}
		r := Request{Method: target.Method, URL: u, Header: http.Header{}, Body: target.Body}
		for name, values := range target.Header {
			for _, value := range values {
				r.Header.Add(name, value)
			}
		}
		out = append(out, weighed{r, target.Weight})
	}
}

// Values are rows of values, by the names of their columns.
type Values []map[string]string

// ReadValues reads values: CSV whose first line names the columns or, if the file begins with a
// brace, one JSON object a line.
func ReadValues(path string) (Values, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	var rows Values
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		for {
			var object map[string]any
			if err := decoder.Decode(&object); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("%s: row %d: %w", path, len(rows)+1, err)
			}
			row := map[string]string{}
			for name, value := range object {
				if s, ok := value.(string); ok {
					row[name] = s
				} else if text, err := json.Marshal(value); err == nil {
					row[name] = string(text)
				}
			}
			rows = append(rows, row)
		}
	} else {
		lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for _, line := range lines[min(1, len(lines)):] {
			row := map[string]string{}
			for i, name := range lines[0] {
				row[name] = line[i]
			}
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s has no rows of values", path)
	}
	return rows, nil
}

// mostExpanded is about how many bytes of memory expanded requests may take.
const mostExpanded = 256 << 20

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

// Expand replaces {{name}} by values, in URLs, header fields and bodies: it returns each request
// with the first row, then each with the second, and so on.
func (rows Values) Expand(requests []Request) (out []Request, err error) {
	size := 0
	for n, row := range rows {
		value := func(match string) (text string, known bool) {
			name := placeholder.FindStringSubmatch(match)[1]
			if strings.HasPrefix(name, ".") { // of an answer
				return "", false
			}
			text, known = row[name]
			if !known {
				err = errors.Join(err, fmt.Errorf("row %d of the values has no %q; it has %s", n+1, name, strings.Join(slices.Sorted(maps.Keys(row)), ", ")))
			}
			return text, known
		}
		for i := range requests {
			r := requests[i].filled(placeholder, value)
			if err != nil {
				return nil, err
			}
			out = append(out, r)
			if size += 500 + len(r.Body) + len(r.URL.Path) + len(r.URL.RawQuery); size > mostExpanded {
				return nil, fmt.Errorf("%d requests with %d rows of values take more than %d MB of memory: give fewer", len(requests), len(rows), mostExpanded>>20)
			}
		}
	}
	return out, nil
}

// filled returns the request with values in place of what the pattern matches, escaped as their
// places want them. What has no value stays.
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
