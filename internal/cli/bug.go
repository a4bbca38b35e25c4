package cli

import (
	"fmt"
	"io"
	"runtime/debug"
)

// bug is a panic that was recovered, with the stack of where it began. It is an
// error so that a worker can hand it to the goroutine that waits for its result:
// nobody could recover from the panic there.
type bug struct {
	value any
	stack []byte
}

func (b *bug) Error() string { return fmt.Sprintf("internal error: %v", b.value) }

// guard calls f and returns a panic as a *bug.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &bug{r, debug.Stack()}
		}
	}()
	return f()
}

// report tells the user what a developer needs to know.
func (b *bug) report(w io.Writer) {
	fmt.Fprintf(w, "blockbp: %v\n\n%s\nThis is a bug in blockbp, not in your data: please report it with the lines above.\n", b, b.stack)
}
