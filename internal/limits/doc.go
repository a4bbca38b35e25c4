// Package limits ends a program whose process may not open files, or have memory, enough to work in: with an
// error, where Go would end it in the middle, with the stacks of its goroutines. It looks when it is
// initialised, as packages that come later open files then; so it imports next to nothing.
package limits
