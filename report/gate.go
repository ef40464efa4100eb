package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"postage/verdict"
)

// GateMarkdown writes a gate's outcome as a job summary: the outcome, and a table of
// the rows that did not pass.
func GateMarkdown(w io.Writer, c *verdict.Changes) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### Postage: %s\n\n%s\n\n", c.Outcome(), plain(headline(c)))
	markdownRows(&b, changeColumns(c), changed(c, func(r *verdict.Change) bool { return r.Outcome != verdict.Passed }))
	for i := range c.Rows {
		if r := &c.Rows[i]; r.Outcome == verdict.Regressed {
			fmt.Fprintf(&b, "- %s %s\n", code(r.New.Row.Name), plain(explain(c, r)))
		}
	}
	if c.Outcome() == verdict.Regressed {
		b.WriteByte('\n')
	}
	changesNotes(&b, c)
	_, err := io.WriteString(w, b.String())
	return err
}

// The part of JUnit's XML that test reporters agree on.
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

// GateJUnit writes a gate's outcome as JUnit XML: a suite a case, a test a row. A row
// that regressed is a failure, an inconclusive one an error, one not gated is skipped.
func GateJUnit(w io.Writer, c *verdict.Changes) error {
	out := junitSuites{Name: "postage gate"}
	index := map[string]int{}
	for i := range c.Rows {
		r := &c.Rows[i]
		row := r.New.Row
		if _, ok := index[row.Case]; !ok {
			index[row.Case] = len(out.Suites)
			out.Suites = append(out.Suites, junitSuite{Name: row.Case})
		}
		suite := &out.Suites[index[row.Case]]
		test := junitCase{Class: row.Case, Name: row.Contender}
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
		suite.Tests++
		suite.Cases = append(suite.Cases, test)
	}
	text, err := xml.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}

// The part of SARIF 2.1.0 that a gate needs.
// Source: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name  string      `json:"name"`
		Rules []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string    `json:"id"`
		ShortDescription sarifText `json:"shortDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations"`
	}
	sarifPhysical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region struct {
			StartLine int `json:"startLine"`
		} `json:"region"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
	}
)

// GateSARIF writes a gate's outcome as SARIF: a result for each row that regressed, an
// error, or was inconclusive, a warning. file is what the results are said to be
// found in, as GitHub shows none without a place: a path within the repository.
func GateSARIF(w io.Writer, c *verdict.Changes, file string) error {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "postage", Rules: []sarifRule{
		{"time", sarifText{"An operation takes longer"}},
		{"allocs", sarifText{"An operation allocates more objects"}},
		{"bytes", sarifText{"An operation allocates more bytes"}},
		{"size", sarifText{"A message is larger"}},
	}}
	add := func(row, rule, level, text string) {
		location := sarifLocation{Logical: []sarifLogical{{row}}}
		location.Physical.Artifact.URI = file
		location.Physical.Region.StartLine = 1
		run.Results = append(run.Results, sarifResult{
			RuleID: rule, Level: level, Message: sarifText{row + ": " + text}, Locations: []sarifLocation{location},
			Fingerprints: map[string]string{"row/v1": row + " " + rule},
		})
	}
	for i := range c.Rows {
		r := &c.Rows[i]
		name := r.New.Row.Name
		timeOnly := *r
		timeOnly.Counts = nil
		switch r.Time {
		case verdict.Regressed:
			add(name, "time", "error", explain(c, &timeOnly))
		case verdict.Inconclusive:
			add(name, "time", "warning", explain(c, &timeOnly))
		}
		for _, count := range r.Counts {
			if count.Outcome == verdict.Regressed {
				add(name, count.Metric, "error", countText(&count)+across(c, "; "))
			}
		}
	}
	return writeJSON(w, sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}
