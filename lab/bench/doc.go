// Package bench measures how fast the block loop runs on this machine, beside what
// the machine could do at most.
package bench
