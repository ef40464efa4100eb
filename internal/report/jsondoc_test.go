package report

import (
	"bytes"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"postage/internal/profile"
	"postage/internal/verdict"
	"postage/record"
)

// forms are all JSON forms, by the headings of docs/reference/json.md.
var forms = map[string]any{
	"Figure": verdict.Interval{}, "Ratio": verdict.Comparison{}, "Rate": Rate{}, "Machine": record.Machine{},
	"Run": jsonRecord{}, "Comparison": jsonChanges{}, "Claims": jsonClaims{}, "History": jsonHistory{}, "Trend": jsonTrends{},
	"Counts": verdict.CountedRun{}, "List": jsonList{}, "Doctor": jsonDoctor{}, "Load": Load{}, "Profile": profile.Summary{}, "Moves": profile.Moves{},
}

// kinds are what the page calls types.
var kinds = map[reflect.Type]string{
	reflect.TypeFor[verdict.Interval](): "figure", reflect.TypeFor[verdict.Comparison](): "ratio", reflect.TypeFor[Rate](): "rate", reflect.TypeFor[record.Machine](): "machine",
	reflect.TypeFor[map[string]*float64](): "numbers or nulls by name", reflect.TypeFor[time.Time](): "string",
}

// fields are a form's fields with their types, in order: "rows[].ns_op` | figure or null".
func fields(prefix string, of reflect.Type) (all []string) {
	for _, f := range fieldsOf(of) {
		name, t, null := prefix+f.name, f.Type, ""
		if _, options, _ := strings.Cut(f.Tag.Get("json"), ","); options != "" && f.Type.Kind() != reflect.Map && f.Type.Kind() != reflect.Slice {
			null = " or null"
		}
		if t.Kind() == reflect.Pointer {
			if t = t.Elem(); kinds[t] != "machine" {
				null = " or null"
			}
		}
		kind := kinds[t]
		if kind == "" {
			kind = map[reflect.Kind]string{
				reflect.String: "string", reflect.Bool: "true or false", reflect.Int: "number", reflect.Int64: "number", reflect.Uint64: "number",
				reflect.Float64: "number", reflect.Map: "object", reflect.Slice: "list", reflect.Array: "list", reflect.Struct: "object",
			}[t.Kind()]
		}
		all = append(all, name+"` | "+kind+null)
		if kinds[t] != "" {
			continue
		}
		if t.Kind() == reflect.Slice {
			name, t = name+"[]", t.Elem()
		}
		if t.Kind() == reflect.Struct {
			all = append(all, fields(name+".", t)...)
		}
	}
	return all
}

// Every field of every form has its row in the page, with its type, and no others have one; the
// order of members is not part of JSON.
func TestSchema(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/json.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	heading := ""
	row := regexp.MustCompile("^\\| `([^`]+` \\| [^|]+) \\|[^|]*\\|$")
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			heading = title
		} else if m := row.FindStringSubmatch(line); m != nil {
			rows[heading] = append(rows[heading], m[1])
		}
	}
	for heading, form := range forms {
		want := fields("", reflect.TypeOf(form))
		slices.Sort(want)
		slices.Sort(rows[heading])
		if !slices.Equal(rows[heading], want) {
			t.Errorf("%s: the page has\n%s\nand the form\n%s", heading, strings.Join(rows[heading], "\n"), strings.Join(want, "\n"))
		}
		delete(rows, heading)
	}
	for heading := range rows {
		t.Errorf("%s: fields of no form", heading)
	}
}

// JSON of commands that is not of a record. HTML characters in texts are not escaped.
func TestCommandsJSON(t *testing.T) {
	number := func(f float64) *float64 { return &f }
	why := "the <name> & version are another's"
	machine := record.Machine{GOOS: "linux", GOARCH: "amd64", CPU: "CPU <R> & more", Cores: 2, Go: "go1.26.0", Load: number(0.5)}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"list": func(b *bytes.Buffer) error {
			return ListJSON(b, []Listed{{Name: "Encode/msg=order/op=encode/codec=a", Stage: "encode", Case: "Encode/msg=order/op=encode", Doc: "How?", Contender: "codec=a",
				Role: record.RoleBaseline, Baseline: "codec=a", Settings: map[string]string{"codec": "a"}, Checks: "it decodes"}, {Name: "Encode/x=1/codec=b", NotPossible: &why}})
		},
		"doctor": func(b *bytes.Buffer) error {
			rate := Rate{Count: 1, Of: 100, Value: 0.01, Low: 0.001, High: 0.05}
			return DoctorJSON(b, &machine, []string{"It is <busy>."}, "Not now.", &Calibration{"encode", 100, rate, rate, []Slowdown{{0.02, rate}}, number(0.02), 10, 0.01, 0.016,
				CalibrationGate{rate, rate, []Slowdown{{0.05, rate}}}})
		},
		"load": func(b *bytes.Buffer) error {
			return LoadJSON(b, Load{Achieved: 99.5, Seconds: 10, Requests: 995, Failed: 1, Errors: map[string]int64{"GET <a>": 1}, Invalid: &why, LatencyNS: map[string]*float64{"p50": nil, "max": nil}})
		},
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".json", b.Bytes())
		if bytes.Contains(b.Bytes(), []byte(`\u00`)) {
			t.Errorf("%s: escaped:\n%s", name, b.String())
		}
	}
}
