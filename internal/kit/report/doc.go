// Package report is the kit that features print their results with: tables for a terminal,
// Markdown, JSON, and the shell, scales and numbers of a page. It knows no feature.
//
// Everything here is a pure function: no clock, no network, no environment.
package report
