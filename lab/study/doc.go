// Package study runs the empirical study of the paper (Lu, Liu and Huang, AAAI 2019, Empirical Study) again, one file
// per figure or table, and holds what it measures against the paper's claims. lab/README.md tells how, and what the
// paper leaves open.
//
// A Study is a value: its name, the claim, the parts that measure at each Scale, and the figures, tables and claims
// that it concludes from them. Parts are kept as files in the output folder, so that a run can be interrupted and gone
// on with, and studies share them.
package study
