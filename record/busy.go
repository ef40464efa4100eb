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

// busyShare is the share of time that batches wait for a processor, from which the machine counts
// as busy. On a quiet machine they wait less than a fiftieth.
const busyShare = 0.05

// Busy reports whether the machine was busy with something else during the run. It goes by how long
// batches waited for a processor; a build just before the run raises the load, but not that. If the
// record does not say how long they waited, it goes by the machine's load before the run.
func (r *Record) Busy() bool {
	if waited, ok := r.Waited(); ok {
		return waited > busyShare
	}
	return r.Machine.Busy() || r.Machine.Stolen()
}
