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
	// Says returns what goes before everything else on a case, the zero Story where the record has
	// too little for one. Optional.
	Says func(*record.Record, *verdict.CaseResult) Story
	// Together says something of all cases of a record, which goes before everything else too.
	// Optional.
	Together func([]*verdict.CaseResult) Story
	// Map places a case on a map of those that differ in two things, nil where it is on none.
	// Optional.
	Map func(*verdict.CaseResult) *Cell
	// Cost says what operations cost a message on its way, nil if nothing.
	Cost *Cost
}

// A Story is what a stage says of a case before anything else, in sentences and as a picture. A
// terminal has the first of the bars, and a page all.
type Story struct {
	Sentences []string
	Bars      []Bar
}

// A Cell is a case's place on the map of that title, in the column and row of these names, and what
// stands there: a ratio, from blue below 1 to orange above it, 0 for no colour, with a hint.
type Cell struct {
	Map, Column, Row string
	Text, Hint       string
	Ratio            float64
}

// A Bar is a row's quantity: its parts, one after the other, each as a share of the first bar. What
// is not known by parts is one part without a name.
type Bar struct {
	Name  string
	Parts []BarPart
}

// Long is how long the bar is, the first one's 1.
func (b Bar) Long() (sum float64) {
	for _, part := range b.Parts {
		sum += part.Share
	}
	return sum
}

// A BarPart is a part of a bar.
type BarPart struct {
	Name  string
	Share float64
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
