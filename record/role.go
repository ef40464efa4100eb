package record

// Role says what a row is for.
type Role string

const (
	RoleContender Role = "contender"
	RoleBaseline  Role = "baseline"
	RoleControl   Role = "control" // the baseline a second time: its ratio must cover 1
	RoleFloor     Role = "floor"   // does the least any contender could; never a recommendation
)
