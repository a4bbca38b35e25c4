// Package bench measures how fast an iteration of learning is, beside the roofline
// of this machine. A test holds the memory that trainings take against
// what --dry-run forecasts. The rest is a benchmark:
//
//	go test -C lab ./bench -run '^$' -bench . -count 6 | tee new
//	benchstat old new
//
// lab/README.md explains the numbers. Benchmarks of single kernels, of a sweep
// and of a visit stand beside the code that they measure.
package bench
