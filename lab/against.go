package lab

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"postage/record"
)

// Build is this program, built from a side's code in several function layouts.
type Build struct {
	// Name ends the names of an old side's rows, such as a short commit. Commit is the full commit.
	Name, Commit string
	// Environment is added to its workers' environment: "GOGC=400".
	Environment []string
	// Commands start a worker, one a layout.
	Commands [][]string
	// Modules are the versions, by path, of its modules.
	Modules map[string]string
}

// Against runs the entries in the programs of the build now, and adds to each baseline and
// contender its old version, which takes part in the same rounds. Controls and floors have none.
// Each block draws one layout for all; every layout is used before any repeats.
func Against(entries []Entry, old, now *Build) []Entry {
	var both []Entry
	for _, e := range entries {
		e.Build = now
		both = append(both, e)
		if e.Role == record.RoleControl || e.Role == record.RoleFloor || e.Contender.NotPossible != "" {
			continue
		}
		e.Role, e.Build, e.Old = record.RoleContender, old, true
		both = append(both, e)
	}
	return both
}

// nowOf is the build of the new code, nil where that is this program.
func nowOf(entries []Entry) *Build {
	for i := range entries {
		if !entries[i].Old {
			return entries[i].Build
		}
	}
	return nil
}

// layout is a block's function layout, from 1. A case's layouts come in random order, each once
// before any repeats.
func layout(seed uint64, caseName string, block, layouts int) int {
	rng := drawn(seed, fmt.Sprintf("%s/layouts/%d", caseName, (block-1)/layouts))
	return 1 + rng.Perm(layouts)[(block-1)%layouts]
}

// drawn is the source of a run's random numbers for one purpose.
func drawn(seed uint64, purpose string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(purpose))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
