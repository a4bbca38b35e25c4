//go:build !amd64 || purego

package ceilings

// vectorized are the kernels in assembly: none here.
var vectorized []kernels
