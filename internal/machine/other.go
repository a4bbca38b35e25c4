//go:build !amd64 || purego

package machine

// supported returns the kernels this machine can run, the best first.
func supported() []kernels { return []kernels{plain} }
