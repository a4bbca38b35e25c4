package simd

import (
	"fmt"

	"github.com/blockbp/blockbp/internal/numeric"
)

// Names returns the names of the implementations that this machine can run, the best first. The last is always "plain".
func Names() []string {
	return numeric.Map(supported(), func(with implementation) string { return with.name })
}

// Use puts another implementation in the place of the one in use, until the function that it returns is called. It is
// for measuring what the vector kernels bring: no kernel may be at work in another goroutine while one takes the place
// of another, and results differ in their last digits.
func Use(name string) (restore func(), err error) {
	for _, with := range supported() {
		if with.name == name {
			before := active
			active = with
			return func() { active = before }, nil
		}
	}
	return nil, fmt.Errorf("simd: no implementation %q on this machine, there are %q", name, Names())
}
