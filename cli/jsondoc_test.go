package cli

import (
	"encoding/json"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"postage/internal/feature/bench"
	"postage/internal/feature/claims"
	"postage/internal/feature/history"
	"postage/internal/feature/profile"
	"postage/internal/feature/show"
	"postage/internal/verdict"
	"postage/load"
)

// figureForm is what an interval is in JSON: see TestFigureForm.
type figureForm struct {
	Value float64  `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
}

// forms are all JSON forms, by the headings of docs/reference/json.md.
var forms = map[string]any{
	"Figure": figureForm{}, "Ratio": show.Ratio{}, "Rate": rateForm{}, "Machine": show.Machine{},
	"Run": show.RecordForm{}, "Comparison": show.ChangesForm{}, "Claims": claims.ListForm{}, "Trend": history.Form{},
	"Counts": bench.CountedRun{}, "Doctor": doctorForm{}, "Load": load.Summary{}, "Profile": profile.Summary{},
}

// kinds are what the page calls types.
var kinds = map[reflect.Type]string{
	reflect.TypeFor[verdict.Interval](): "figure", reflect.TypeFor[show.Ratio](): "ratio", reflect.TypeFor[rateForm](): "rate", reflect.TypeFor[show.Machine](): "machine",
	reflect.TypeFor[map[string]*float64](): "numbers or nulls by name", reflect.TypeFor[time.Time](): "string",
}

// fields are a form's fields with their types, in order: "rows[].ns_op` | figure or null".
func fields(prefix string, form reflect.Type) (all []string) {
	for _, f := range reflect.VisibleFields(form) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && tag == "" || tag == "-" || !f.IsExported() {
			continue
		}
		name, t, null := prefix+tag, f.Type, ""
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
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() == reflect.Struct {
			all = append(all, fields(name+".", t)...)
		}
	}
	return all
}

// An interval is a figure, with null for bounds that are not known.
func TestFigureForm(t *testing.T) {
	one, two := 1.0, 2.0
	for _, test := range []struct {
		interval verdict.Interval
		want     *figureForm
	}{
		{verdict.Interval{Value: 1.5, Low: 1, High: 2}, &figureForm{1.5, &one, &two}},
		{verdict.Interval{Value: 1.5, Low: 0, High: math.Inf(1)}, &figureForm{Value: 1.5}},
		{verdict.Interval{Value: math.NaN()}, nil},
	} {
		got, err := json.Marshal(test.interval)
		want, _ := json.Marshal(test.want)
		if err != nil || string(got) != string(want) {
			t.Errorf("%+v: %s, %v, want %s", test.interval, got, err, want)
		}
	}
}

// Every field of every form has its row in the page, with its type, and no others have one; the
// order of members is not part of JSON.
func TestSchema(t *testing.T) {
	page, err := os.ReadFile("../docs/reference/json.md")
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
