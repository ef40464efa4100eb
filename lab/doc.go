// Package lab is the instrument. It measures cases, and knows no stage. A suite of your own:
//
//	suite := lab.Suite{Stage: "sum", Cases: []lab.Case{{
//		Name: "Sum/n=1000", Baseline: "impl=loop", Contenders: []lab.Contender{
//			{Name: "impl=loop", Checks: "the sum", Open: openLoop},
//			{Name: "impl=unrolled", Checks: "the sum", Open: openUnrolled},
//		}}}}
//
// What happens in a run:
//
//  1. [Select] picks rows by pattern, [NewPlan] fits them into a budget.
//  2. [Conductor.Run] measures block after block. For a block it starts its own program again as a
//     worker, one process per contender. Each worker sets its contender up, proves it, warms up,
//     collects garbage, and waits for the baton.
//  3. In each round every worker gets the baton once, in fresh random order, runs one batch of
//     operations and answers with what it cost. Only one batch runs at a time.
//  4. A case is done when the intervals of all its ratios are as narrow as was asked; the next block
//     goes to the case that it narrows most a second. Whether a difference is significant never
//     decides when to stop.
//  5. The record is saved as it grows. Package verdict turns it into figures.
//
// A contender that breaks (wrong answer, panic, exit, hang, leak) loses its own row, with the
// reason, and no other.
//
// Note: timing contenders one after the other in one process was rejected. A later one finds the
// heap, the caches and the machine's neighbours as the others left them, and one process is one
// draw of the address layout, which alone can move a figure more than the difference looked for.
package lab
