// Package machine says what this machine has: the sizes of its caches, memory, and the time of its
// processors; and it asks the system for large pages.
package machine
