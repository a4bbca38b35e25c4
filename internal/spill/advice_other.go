//go:build !linux

package spill

import "os"

// Other systems read as they do, and tell nothing.

func (span) fetch() {}

func (span) readApart(bool) {}

func whatIsFree(string) string { return "" }

// InMemory reports whether the files of a folder lie in memory, as far as the system tells.
func InMemory(string) bool { return false }

// takeRoom takes room for a file where the file system has no call for that.
func takeRoom(file *os.File, bytes int64) error { return writeZeros(file, bytes) }
