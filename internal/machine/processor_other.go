//go:build !unix

package machine

import "time"

// processorTime: what Windows accounts comes in steps of 15.6 ms, too long for what
// is measured here.
func processorTime() (taken time.Duration, ok bool) { return 0, false }
