// Package uai reads and writes the file formats of the UAI inference competitions: networks (.uai, MARKOV and BAYES),
// evidence (.uai.evid) and results (.PR, .MAR, .MPE).
//
// Files hold values on the natural scale; networks in memory hold natural logarithms, with -Inf for the value 0.
// Values beyond the range of float64 are legal in the text ("1e-700"): their logarithm is taken from the digits, so
// none silently becomes a hard zero or an infinity. So is that of a number with more than 24 digits, which is how any
// logarithm can be written and read back to the last bit.
//
// Every parser streams: memory follows what the file holds, never what its
// header claims. Errors of the content are *Error, which names file and line.
package uai
