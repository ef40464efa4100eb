// Package build makes programs, and test binaries, of a git revision or of the working tree, each
// in several function layouts.
//
// Any edit moves the functions behind it, and where a tight loop lies moves its time by several
// percent, the same way in every process: a bias that no number of processes removes. The linker
// has -randlayout=SEED, which shuffles the functions. A program that is built with several seeds,
// and measured in turns among them, shows by how much its layout alone moves it.
//
// What is built of a revision is kept in the user's cache folder, by commit, flags and seed. The
// working tree is never touched.
package build
