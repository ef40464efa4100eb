// Package bench measures any Go benchmark, as it stands, with the instrument of package lab.
//
//  1. [Find] lists the packages that patterns name and the benchmarks in them.
//  2. A package's test binary is built as go test builds it, except that go build's -overlay adds a
//     file to package testing (see folder hook). Told to, the binary stays alive and runs one
//     benchmark's batches when asked. It answers with what each took, by the benchmark's own timer.
//  3. [New] makes a case of each benchmark. Its contenders are test binaries in the worker's
//     place; everything else (blocks, rounds, intervals, control, budget, record) is the
//     instrument's.
//
// Nothing of the user's is changed: the overlay is only an argument of the compiler.
package bench
