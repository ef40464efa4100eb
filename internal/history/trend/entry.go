package trend

import "time"

// Entry is a record in the history.
type Entry struct {
	Record  int64 // its number
	Name    string
	Started time.Time
	Added   time.Time
	Machine string
	Commit  string
	Seed    string
	Go      string
	Partial bool
	Cases   int
	Figures int // rows with figures
	Blocks  int
}
