package trend

import "time"

// Entry is a record in the history.
type Entry struct {
	Record  int64     `json:"record"` // its number
	Name    string    `json:"name"`
	Started time.Time `json:"started,omitzero"`
	Added   time.Time `json:"added,omitzero"`
	Machine string    `json:"machine"`
	Commit  string    `json:"commit,omitempty"`
	Seed    string    `json:"seed"` // text, since it may have 64 bits
	Go      string    `json:"go"`
	Partial bool      `json:"partial"`
	Cases   int       `json:"cases"`
	Figures int       `json:"rows"` // with figures
	Blocks  int       `json:"blocks"`
}
