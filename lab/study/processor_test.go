package study

import (
	"runtime"
	"testing"
	"time"
)

// TestProcessorTime: it grows with work, and not with waiting.
func TestProcessorTime(t *testing.T) {
	begin, ok := ProcessorTime()
	if !ok {
		if runtime.GOOS == "linux" || runtime.GOOS == "darwin" {
			t.Fatal("the system tells no processor time")
		}
		return
	}
	x := 1.0
	for range 20_000_000 {
		x += 1 / x
	}
	worked, _ := ProcessorTime()
	if !(x > 1) || worked-begin < time.Millisecond {
		t.Errorf("20 million divisions took %v", worked-begin)
	}
	const pause = 100 * time.Millisecond
	time.Sleep(pause)
	if waited, _ := ProcessorTime(); waited-worked > pause/2 {
		t.Errorf("waiting for %v took %v of the processor", pause, waited-worked)
	}
}
