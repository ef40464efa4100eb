// Package build makes the sides of a comparison: programs, or test binaries, of a git revision or
// the working tree, built or run in two ways or more, each in several function layouts.
//
// Any edit moves the functions behind it, and the address of a tight loop changes its time by
// several percent, the same in every process: a bias that no number of processes removes. The
// linker's -randlayout=SEED shuffles the functions. A program built with several seeds and measured
// in turns shows how much its layout alone changes its time.
//
// What is built of a revision is kept in the user's cache folder, by commit, flags and seed. The
// working tree is never touched.
package build
