package verdict

import "postage/record"

// Figures describe a stage's figures to packages that print them but know no stage. With the zero
// value, cases are shown by their names.
type Figures struct {
	// Spoken is a case as a person says it, in some 20 characters: "an order, decoded"; "" for one
	// that is shown by its name. Optional.
	Spoken func(caseName string) string
	// Says returns the sentences that go before everything else on a case, none where the record
	// has too little for one. Optional.
	Says func(*record.Record, *CaseResult) []string
}

// Stage is a stage's name, as in records, and what it says of its figures.
type Stage struct {
	Name string
	Figures
}
