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
	// PerMillion says what a million messages cost by each way that Cost knows of both ends, before
	// anything else: the messages are the user's.
	PerMillion bool
	// Says returns the sentences that go before everything else on a case, none where the record
	// has too little for one. Optional.
	Says func(*record.Record, *verdict.CaseResult) []string
	// Together says something of all cases of a record, which goes before everything else too.
	// Optional.
	Together func([]*verdict.CaseResult) []string
	// Cost says what operations cost a message on its way, nil if nothing.
	Cost *Cost
}

// Stage is a stage's name, as in records, and what it says of its figures.
type Stage struct {
	Name string
	Figures
}

// Cost makes a stage's cases a step of a message's way, of which users choose one.
type Cost struct {
	Step    string // "seal"
	Title   string // "sealed by"
	Without string // "not sealed": the choice to leave the step out; "" if it cannot be
	// Message is the message that the choice begins with, for steps whose cases are of messages.
	Message string
	// Left starts the choice without the step.
	Left bool
	// Of says what an operation of a row is to a message, nil if it is none of the ways.
	Of func(*record.Row) *Operation
}

// Operation is what one operation of a row does for a message.
type Operation struct {
	// Message is the message that it works on, "" for any.
	Message string
	// Messages is how many messages an operation handles.
	Messages float64
	// Group names the rows that do the same work, so that one can replace another.
	Group string
	// Client and Server name the CPU time of the row's own process and of its server, which
	// the message costs; "" for what it does not cost.
	Client, Server string
	// Beside is another case with the row's contender, whose time the message costs too; nil for
	// none.
	Beside *Beside
	// Bytes are the metrics whose sum is the message's size from here on, or, if the step Carries
	// it to another machine, the bytes that it adds on the wire. Whole says that they replace the
	// size from before.
	Bytes          []string
	Whole, Carries bool
	// Note stands behind the contender's name.
	Note string
	// Why it cannot be chosen, "" if it can.
	Why string
	// Usual marks what the choice begins with.
	Usual bool
}

// Beside is a case that goes with another: what was encoded is also decoded.
type Beside struct {
	Case   string // its name
	Client string // names the CPU time, as in [Operation]
	Title  string // "decoding"
}
