package show

import (
	"encoding/xml"
	"fmt"
	"io"

	"postage/internal/verdict"
)

// The part of JUnit's XML on which test reporters agree.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Name    string       `xml:"name,attr"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitMessage `xml:"failure"`
		Error   *junitMessage `xml:"error"`
		Skipped *junitMessage `xml:"skipped"`
	}
	junitMessage struct {
		Type    string `xml:"type,attr,omitempty"`
		Message string `xml:"message,attr"`
	}
)

// GateJUnit writes a gate's outcome as JUnit XML: a suite for each case, a test for each row. A row
// that regressed is a failure, an inconclusive row an error; a row that is not gated is skipped.
func GateJUnit(w io.Writer, c *verdict.Changes) error {
	out := junitSuites{Name: "postage gate"}
	for _, rows := range byCase(c.Rows) {
		suite := junitSuite{Name: rows[0].New.Row.Case, Tests: len(rows)}
		for _, r := range rows {
			test := junitCase{Class: suite.Name, Name: r.New.Row.Contender}
			message := &junitMessage{string(r.Outcome), explain(c, r)}
			switch r.Outcome {
			case verdict.Regressed:
				test.Failure = message
				suite.Failures++
			case verdict.Inconclusive:
				test.Error = message
				suite.Errors++
			case verdict.NotGated:
				message.Type = ""
				test.Skipped = message
				suite.Skipped++
			}
			suite.Cases = append(suite.Cases, test)
		}
		out.Suites = append(out.Suites, suite)
	}
	text, err := xml.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}
