//go:build race

package webpush

const raceEnabled = true
