// Package bench measures how fast the block loop runs on this machine, beside what
// the machine could do at most, and how its time grows with the size of networks.
package bench
