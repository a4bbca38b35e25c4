//go:build !amd64 || purego

package machine

// vectorized are the kernels in assembly: none here.
var vectorized []kernels
