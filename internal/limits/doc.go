// Package limits ends a program whose process may not open files, or have memory, enough to work in: with an
// error, where Go would end it in the middle, with the stacks of its goroutines. It looks when it is
// initialised, as packages that come later open files then; so it imports next to nothing.
//
// Where Go itself finds no address space, below about 1 GB, entry_linux_amd64.s alone can say so: builds that
// are not linked with it, and those for other processors, end with Go's stacks and exit code 2.
package limits
