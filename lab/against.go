package lab

import "postage/record"

// Revision is this program as it was at another commit, built to be measured beside it.
type Revision struct {
	// Name is what its rows are called after, a short commit; Commit is the full one.
	Name, Commit string
	// Command starts a worker of it.
	Command []string
	// Modules are the versions, by path, of the modules that it is built from.
	Modules map[string]string
}

// Against adds to each baseline and contender its old self, which then takes part in the
// same rounds. Controls and floors have none.
func Against(entries []Entry, old *Revision) []Entry {
	var both []Entry
	for _, e := range entries {
		both = append(both, e)
		if e.Role == record.RoleControl || e.Role == record.RoleFloor || e.Contender.NotPossible != "" {
			continue
		}
		e.Role, e.Old = record.RoleContender, old
		both = append(both, e)
	}
	return both
}
