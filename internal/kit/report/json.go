package report

import (
	"encoding/json"
	"io"
	"math"
)

// WriteJSON writes a form of docs/json.md, with HTML characters as they are. The form's type has
// only published fields. A nil pointer stands for what is not known, and a list is empty rather
// than nil: the functions below make these.
func WriteJSON(w io.Writer, form any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(form)
}

// OrNull is nil for a zero value.
func OrNull[T comparable](x T) *T {
	var zero T
	if x == zero {
		return nil
	}
	return &x
}

// Finite is nil for what is no number.
func Finite(x float64) *float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return &x
}

// List is an empty list for nil.
func List[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Map is an empty map for nil.
func Map[T any](m map[string]T) map[string]T {
	if m == nil {
		return map[string]T{}
	}
	return m
}
