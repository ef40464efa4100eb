package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
)

// answerValue matches a placeholder for what an earlier answer to the same visitor said:
// {{.json.token}}, {{.header.X-Csrf}} or {{.cookie.sid}}.
var answerValue = regexp.MustCompile(`\{\{\s*\.(json|header|cookie)\.([^{}\s]+)\s*\}\}`)

// linked reports whether a request uses a value of an earlier answer.
func (t *Target) linked() (found bool) {
	for _, r := range t.Requests {
		r.filled(answerValue, func(string) (string, bool) {
			found = true
			return "", false
		})
	}
	return found
}

// answerValues has the values of a visitor's answers. A later value replaces an earlier one.
type answerValues struct {
	json   map[string]any
	header http.Header
	cookie map[string]string
}

// mostJSON is how much of a body is read for values, in bytes.
const mostJSON = 1 << 20

// read keeps an answer's values. Its body can be read again.
func (a *answerValues) read(r *http.Response) error {
	for name, values := range r.Header {
		a.header[name] = values
	}
	for _, c := range r.Cookies() {
		a.cookie[c.Name] = c.Value
	}
	if !strings.Contains(r.Header.Get("Content-Type"), "json") {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, mostJSON))
	if err != nil {
		return err
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), r.Body), r.Body}
	var object map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&object) == nil {
		for name, value := range object {
			a.json[name] = value
		}
	}
	return nil
}

// value returns the value of a placeholder, "" if no answer had one.
func (a *answerValues) value(kind, name string) string {
	switch kind {
	case "header":
		return a.header.Get(name)
	case "cookie":
		return a.cookie[name]
	}
	var found any = a.json
	for part := range strings.SplitSeq(name, ".") {
		object, _ := found.(map[string]any)
		found = object[part]
	}
	if found == nil {
		return ""
	}
	return fmt.Sprint(found)
}

// completed returns a request with the values of earlier answers.
func (a *answerValues) completed(r Request) Request {
	return r.filled(answerValue, func(match string) (string, bool) {
		m := answerValue.FindStringSubmatch(match)
		return a.value(m[1], m[2]), true
	})
}
