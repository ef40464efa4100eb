package cli

import (
	"postage/internal/show"
	"postage/record"
)

// JSON that commands print and that is not of a record. The commands fill these in; version 1 of
// each form is a stable interface (docs/json.md).
type (
	// listed is a row that can be measured, as `list` prints it.
	listed struct {
		Name        string            `json:"name"`
		Stage       string            `json:"stage"`
		Case        string            `json:"case"`
		Doc         string            `json:"doc"`
		Headline    bool              `json:"headline"`
		Contender   string            `json:"contender"`
		Role        record.Role       `json:"role"`
		Baseline    string            `json:"baseline"`
		Module      string            `json:"module"`
		Settings    map[string]string `json:"settings"`
		Properties  map[string]string `json:"properties"`
		Checks      string            `json:"checks"`
		NotPossible *string           `json:"not_possible"`
	}
	listForm struct {
		Version int      `json:"version"`
		Rows    []listed `json:"rows"`
	}

	// Calibration is what `doctor --calibrate` found; nil where it was not asked to.
	Calibration struct {
		Stage       string     `json:"stage"`
		Comparisons int        `json:"comparisons"`
		FalseAlarms Rate       `json:"false_alarms"`
		Misses      Rate       `json:"interval_misses"`
		Slowdowns   []Slowdown `json:"slowdowns"`
		// Smallest is the smallest slowdown found in 95%, nil if none was.
		Smallest  *float64 `json:"smallest_found"`
		Blocks    float64  `json:"median_blocks"`
		HalfWidth float64  `json:"median_half_width"`
		Needed    float64  `json:"needed"`
		// Gate is what a gate finds in the same batches.
		Gate CalibrationGate `json:"gate"`
	}
	// CalibrationGate is how often runs of equal code failed, rows of it passed, and rows of a
	// known slowdown failed.
	CalibrationGate struct {
		Failed    Rate       `json:"equal_failed"`
		Passed    Rate       `json:"equal_passed"`
		Slowdowns []Slowdown `json:"slowdowns"`
	}
	// Slowdown is how often one of a known size was called slower.
	Slowdown struct {
		By    float64 `json:"by"`
		Found Rate    `json:"found"`
	}
	// Rate is how often something happened, with its 95% interval.
	Rate struct {
		Count int     `json:"count"`
		Of    int     `json:"of"`
		Value float64 `json:"value"`
		Low   float64 `json:"low"`
		High  float64 `json:"high"`
	}
	doctorForm struct {
		Version     int           `json:"version"`
		Machine     *show.Machine `json:"machine"`
		Findings    []string      `json:"findings"`
		Conclusion  string        `json:"conclusion"`
		Calibration *Calibration  `json:"calibration"`
	}
)
