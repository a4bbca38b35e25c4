package machine

import "time"

// ProcessorTime returns the processor time that all threads of this process have
// taken so far, theirs and the system's on their behalf; ok is false where the system
// does not tell: Unix does. Unlike time on the wall it stands still while other
// programs have the processor, and while the process is stopped.
func ProcessorTime() (taken time.Duration, ok bool) { return processorTime() }
