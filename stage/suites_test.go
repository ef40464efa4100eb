package stage

import "testing"

// What each worker process does at its start, before it finds its row.
func BenchmarkSuites(b *testing.B) {
	for b.Loop() {
		Suites()
	}
}
