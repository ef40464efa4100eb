//go:build race

package pgbulk_test

const raceEnabled = true
