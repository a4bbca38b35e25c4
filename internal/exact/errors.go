package exact

import (
	"errors"
	"fmt"

	"github.com/blockbp/blockbp/internal/memory"
)

// ErrZero says that every joint state of a network has probability zero: its hard zeros contradict each other. So log
// Z is −Inf, exactly, and marginals, most probable states and samples do not exist.
var ErrZero = errors.New("every joint state has probability zero; look for contradictory evidence or constraints")

// TooWideError says that a network needs more memory than allowed. Nothing has been allocated when it is returned.
type TooWideError struct {
	Width      int     // induced width of the best elimination order found
	Bytes      int64   // forecast for the tables of the whole run
	Operations float64 // forecast for the whole run
	LowerBound bool    // the order search gave up: the true needs are larger
	Limit      int64   // allowed bytes
}

// Error implements error.
func (e *TooWideError) Error() string {
	need := fmt.Sprintf("the best elimination order found has induced width %d and needs %s of memory",
		e.Width, memory.Text(float64(e.Bytes)))
	if e.LowerBound {
		need = fmt.Sprintf("every elimination order tried passes induced width %d and needs more than %s of memory",
			e.Width, memory.Text(float64(e.Bytes)))
	}
	return fmt.Sprintf("exact: %s, the limit is %s: raise the limit, fix more variables by evidence, or use another "+
		"method: the cost of belief propagation and of TRW-S does not depend on the width",
		need, memory.Text(float64(e.Limit)))
}
