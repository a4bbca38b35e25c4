//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package spill

import "os"

func takeRoom(file *os.File, bytes int64) error { return writeZeros(file, bytes) }

func whatIsFree(string) string { return "" }

// InMemory reports whether the files of a folder lie in memory, as far as the system tells.
func InMemory(string) bool { return false }
