// Package cost holds what a stage says of its figures, and computes what a million messages cost.
// It names no stage and measures nothing.
package cost

import (
	"postage/internal/verdict"
	"postage/record"
)

// Figures describe a stage's figures to packages that print them or calculate with them but know no
// stage. With the zero value, cases are printed without any of that.
type Figures struct {
	// Message is the key in case names that names the message: "msg".
	Message string
	// Spoken is a case as a person says it, in some 20 characters: "an order, decoded"; "" for one
	// that is shown by its name. Optional.
	Spoken func(caseName string) string
	// PerMillion has a terminal say what a million messages cost, because they are the user's own.
	// A page says it for all messages.
	PerMillion bool
	// Says returns the sentences that go before everything else on a case, none where the record
	// has too little for one. Optional.
	Says func(*record.Record, *verdict.CaseResult) []string
	// Ends says which message a row encodes, and where it is decoded, nil for other rows. Optional.
	Ends func(*record.Row) *Ends
}

// Stage is a stage's name, as in records, and what it says of its figures.
type Stage struct {
	Name string
	Figures
}

// Ends are both ends of a message's way.
type Ends struct {
	Message string
	Back    string // the name of the case that decodes it, by the same contender
}
