package report

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"reflect"
	"strings"
	"time"

	"postage/internal/verdict"
	"postage/record"
)

// JSON is a stable interface (docs/json.md), and says of each value whether it is known: what is
// not is null, never 0, and never missing. The tags of the types that are analysed and printed name
// their fields. Three things differ from package encoding/json:
//
//  1. A field that the tag omits where it is empty is null there. So is a number that is not
//     finite, and the bounds of an interval that has none.
//  2. A field without a tag is not written, and a list or a map of texts is never null.
//  3. HTML characters stand as they are.
func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(knownOf(reflect.ValueOf(v)))
}

// knownOf is a value for encoding/json that has null for what is not known.
func knownOf(v reflect.Value) any {
	switch x := v.Interface().(type) {
	case time.Time:
		return x.UTC().Format(time.RFC3339)
	case verdict.Interval:
		v = reflect.ValueOf(withBounds(x))
	case verdict.Comparison:
		x.Interval = withBounds(x.Interval)
		v = reflect.ValueOf(x)
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return knownOf(v.Elem())
	case reflect.Float64:
		if x := v.Float(); math.IsInf(x, 0) || math.IsNaN(x) {
			return nil
		}
	case reflect.Slice, reflect.Array:
		list := []any{}
		for i := range v.Len() {
			list = append(list, knownOf(v.Index(i)))
		}
		return list
	case reflect.Map:
		if v.IsNil() && v.Type().Elem().Kind() != reflect.String {
			return nil
		}
		values := map[string]any{}
		for _, key := range v.MapKeys() {
			values[key.String()] = knownOf(v.MapIndex(key))
		}
		return values
	case reflect.Struct:
		var o object
		for _, f := range fieldsOf(v.Type()) {
			field, value := v.FieldByIndex(f.Index), any(nil)
			if !f.null || !field.IsZero() {
				value = knownOf(field)
			}
			o = append(o, member{f.name, value})
		}
		return o
	}
	return v.Interface()
}

// withBounds is an interval whose bounds are infinite where there are too few blocks for them.
func withBounds(i verdict.Interval) verdict.Interval {
	if !i.Bounded() {
		i.Low, i.High = math.Inf(-1), math.Inf(1)
	}
	return i
}

// field is a field of an object, and whether it is null where it is empty.
type field struct {
	reflect.StructField
	name string
	null bool
}

// fieldsOf are those that a struct is written with, in order.
func fieldsOf(t reflect.Type) (fields []field) {
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			// The bounds of an interval are null where they are infinite.
			null := strings.HasPrefix(options, "omit")
			fields = append(fields, field{f, name, null && f.Type.Kind() != reflect.Map && f.Type.Kind() != reflect.Slice && f.Type.Kind() != reflect.Float64})
		}
	}
	return fields
}

// object keeps the order of its members.
type (
	object []member
	member struct {
		name  string
		value any
	}
)

func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := encoder.Encode(m.name); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := encoder.Encode(m.value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// The JSON of a record, version 3.
type (
	jsonRecord struct {
		Version  int             `json:"version"`
		Machine  *record.Machine `json:"machine"`
		World    *record.World   `json:"world"`
		Seed     uint64          `json:"seed"`
		Duty     *float64        `json:"duty"`
		Partial  bool            `json:"partial"`
		Self     *jsonSelf       `json:"self"`
		Rows     []jsonRow       `json:"rows"`
		Answers  []jsonAnswer    `json:"answers"`
		Warnings []string        `json:"warnings"`
	}
	jsonAnswer struct {
		Case      string              `json:"case"`
		Use       string              `json:"use"`
		InsteadOf string              `json:"instead_of,omitempty"`
		Ratio     *verdict.Comparison `json:"ratio"`
		Sure      float64             `json:"sure,omitempty"` // NaN is null
		Also      []string            `json:"also"`
		Departs   *jsonDeparture      `json:"departs"`
	}
	jsonDeparture struct {
		Use   string             `json:"use"`
		Ratio verdict.Comparison `json:"ratio"`
		From  string             `json:"from"`
	}
	jsonSelf struct {
		ConductorPeakBytes int64   `json:"conductor_peak_bytes,omitempty"`
		ElapsedSeconds     float64 `json:"elapsed_s"`
	}
	jsonRow struct {
		*record.Row
		*verdict.Result
		Module     string              `json:"module"` // "" is known to be none
		FloorRatio *float64            `json:"floor_ratio"`
		Metrics    map[string]*float64 `json:"metrics"`
	}
)

// commonMetrics are in every row's metrics, null where the row has no such figure.
var commonMetrics = []string{record.EncodedBytes, record.ClientCPU, record.ServerCPU, record.WireOut, record.WireIn, "p50-ns", "p90-ns", "p99-ns", "p99.9-ns", "max-ns"}

// recordJSON writes a record in its JSON form. Rows keep the record's order.
func recordJSON(w io.Writer, rec *record.Record, a *verdict.Analysis) error {
	out := jsonRecord{Version: 3, Machine: &rec.Machine, World: rec.Run.World, Seed: rec.Run.Seed, Partial: !rec.Run.Complete, Warnings: a.Warnings}
	if self := rec.Run.Self; self != nil {
		out.Duty = &self.Duty
		out.Self = &jsonSelf{self.PeakBytes, rec.Run.Elapsed.Seconds()}
	}
	rows := map[string]jsonRow{}
	for _, c := range a.Cases {
		if advice := verdict.Advise(c); advice != nil && picksOf(c) == nil {
			out.Answers = append(out.Answers, newJSONAnswer(c, advice))
		}
		for _, r := range c.Rows {
			rows[r.Row.Name] = newJSONRow(r)
		}
	}
	for i := range rec.Rows {
		out.Rows = append(out.Rows, rows[rec.Rows[i].Name])
	}
	return writeJSON(w, out)
}

func newJSONAnswer(c *verdict.CaseResult, advice *verdict.Advice) jsonAnswer {
	ratio := func(r, to *verdict.Result) verdict.Comparison {
		x, _ := c.RatioOf(r, to)
		return verdict.Comparison{To: to.Row.Contender, Interval: x}
	}
	j := jsonAnswer{Case: c.Name, Use: advice.Use.Row.Contender, Sure: advice.Sure}
	if advice.Instead != nil {
		j.InsteadOf, j.Ratio = advice.Instead.Row.Contender, new(ratio(advice.Use, advice.Instead))
	}
	for _, r := range advice.Also {
		j.Also = append(j.Also, r.Row.Contender)
	}
	if r := advice.Departing; r != nil {
		j.Departs = &jsonDeparture{r.Row.Contender, ratio(r, advice.Use), r.Row.Properties[record.Departs]}
	}
	return j
}

func newJSONRow(r *verdict.Result) jsonRow {
	j := jsonRow{Row: r.Row, Result: r, Module: r.Row.Module, Metrics: map[string]*float64{}}
	if r.FloorRatio != nil {
		j.FloorRatio = &r.FloorRatio.Value
	}
	for _, unit := range commonMetrics {
		j.Metrics[unit] = nil
	}
	for unit, value := range r.Metrics {
		j.Metrics[unit] = &value
	}
	return j
}
