// Package oracle computes by enumeration of all joint states what the rest of the project computes cleverly. It is for
// tests only, with what these compare by: nothing but tests may import it.
package oracle
