// Package bench measures how fast an iteration of learning is, beside the roofline
// of this machine. A test holds the memory that trainings take against
// what --dry-run forecasts. The rest is a benchmark:
//
//	go test -C lab ./bench -run '^$' -bench Iteration -count 6 | tee new
//	benchstat old new
//
// lab/README.md explains the numbers. BenchmarkKernels has single kernels, and that of the gradient phase
// stands beside its code.
package bench
