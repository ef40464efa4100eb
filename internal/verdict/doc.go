// Package verdict says what records mean. It is pure: no clock, no file, no network,
// and the same record always gives the same answer.
//
//  1. [Analyze] turns the batches of one run into figures: of each row its time, its
//     ratio to the case's baseline with a 95% interval, and a verdict (faster, slower,
//     same, undecided).
//  2. [CompareRecords] compares two runs row by row, [ComparePaired] two versions of the
//     code that took turns in one run. Each row's outcome is regressed, passed or
//     inconclusive, judged by [Thresholds].
//
// The mathematics is in package stats, the data in package record. Packages that print,
// gate or keep figures start here; nothing here knows how a figure was measured.
package verdict
