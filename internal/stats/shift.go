package stats

// Shift is how far the values of one program lie above another's (see [Paired]).
type Shift struct {
	Value float64 // the estimate
	// Low and High bound the interval of 95% or a little more; infinite where the samples are too
	// small for one.
	Low, High float64
	P         float64 // the two-sided p-value of no shift
	// Seen is how far above 0 the estimate would have to be for the test to reject at the caller's
	// level, with the same spread. It is +Inf if samples of these sizes cannot reject at that
	// level.
	Seen float64
	// SeenOne is the same at the level of a row that is compared by itself, of [Moderated].
	SeenOne float64
}
