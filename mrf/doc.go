// Package mrf holds networks with explicit potential tables: what a file such as a UAI network gives, and what a
// conditional model becomes once the features of one instance are multiplied in.
package mrf
