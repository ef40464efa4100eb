package record

// Busy reports whether others used the machine's processors when it was described.
func (m *Machine) Busy() bool {
	return m.Load != nil && *m.Load > 0.5*float64(m.Cores) || m.PressurePercent != nil && *m.PressurePercent > 10
}

// Stolen reports whether the hypervisor gave so much of its processors to others that it matters.
func (m *Machine) Stolen() bool { return m.StealPercent != nil && *m.StealPercent > 5 }

// Waited is the share of the time of batches that only use a processor during which they had none,
// from 0 to 1; false if the record has no such batches.
func (r *Record) Waited() (share float64, ok bool) {
	var wall, waited int64
	for i := range r.Blocks {
		for j := range r.Blocks[i].Series {
			s := &r.Blocks[i].Series[j]
			if row := r.Row(s.Row); row == nil || row.Value != ValueCost || len(s.CPUNS) < len(s.WallNS) {
				continue
			}
			for k, ns := range s.WallNS {
				if s.CPUNS[k] > 0 { // else it is not known
					wall, waited = wall+ns, waited+max(0, ns-s.CPUNS[k])
				}
			}
		}
	}
	return float64(waited) / float64(max(1, wall)), wall > 0
}

// Slowed is how many times as long as its pieces that nothing disturbed a batch took, in the middle
// of all that did not collect; false if the record has none in pieces. Beyond what waiting is, the
// processor was slower: other guests share its core, its caches or its clock.
func (r *Record) Slowed() (times float64, ok bool) {
	var all []float64
	for i := range r.Blocks {
		for j := range r.Blocks[i].Series {
			s := &r.Blocks[i].Series[j]
			for k, ns := range s.CPUNS {
				if s.FastNS > 0 && ns > 0 && (s.Collections == nil || s.Collections[k] == 0) {
					all = append(all, float64(ns)/float64(s.FastNS))
				}
			}
		}
	}
	if len(all) == 0 {
		return 1, false
	}
	return median(all), true
}

// The share of batches' time from which the machine counts as busy, and how much longer they took:
// on a quiet one it is below a fiftieth, and 1.04 to 1.1.
const busyShare, busyTimes = 0.05, 1.2

// Busy reports whether the machine was busy with something else while the record was measured: by
// how long batches waited, and by how much they were slowed, which a build just before the run does
// not change, as it does the load; else by how the machine was found.
func (r *Record) Busy() bool {
	if waited, ok := r.Waited(); ok {
		slowed, _ := r.Slowed()
		return waited > busyShare || slowed > busyTimes
	}
	return r.Machine.Busy() || r.Machine.Stolen()
}
