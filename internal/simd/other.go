//go:build !amd64 || purego

package simd

// supported returns the implementations this machine can run, the best first.
func supported() []implementation { return []implementation{plain} }
