// Package uai reads the file formats of the UAI inference competitions, networks (.uai, MARKOV and BAYES) and evidence
// (.uai.evid), and writes results (.PR, .MAR, .MPE). Files hold values on the natural scale; networks in memory hold
// natural logarithms, with -Inf for the value 0. Values beyond the range of float64 are legal in the text ("1e-700").
// Memory follows what a file holds, never what its header claims. Errors of the content are *Error.
package uai
