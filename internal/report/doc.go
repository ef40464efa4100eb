// Package report presents records: as a table for a terminal, as Markdown, as JSON for
// programs, and as a page for a browser; and the same of comparisons of two records, with
// what CI reads of a gate (JUnit XML).
//
// Everything here is a pure function of a record: no clock, no network, no environment.
// What a figure needs to be read right travels with it: its interval, the control's,
// And the reason in place of figures where there is no proof.
package report
