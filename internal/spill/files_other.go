//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package spill

func mapNew(string, int64) ([]byte, error) { return nil, errNoFiles }

func unmap([]byte) {}

func full(error) bool { return false }
