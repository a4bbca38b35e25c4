package machine

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestReadKilobytes: the line, and nothing where there is none.
func TestReadKilobytes(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64
		ok   bool
	}{
		{"Name:\tx\nVmPeak:\t  9 kB\nVmHWM:\t  1980 kB\nVmRSS:\t 4 kB\n", 1980 << 10, true},
		{"VmRSS:\t4 kB\n", 0, false},
		{"VmHWM:\tmuch kB\n", 0, false},
		{"", 0, false},
	} {
		path := filepath.Join(t.TempDir(), "status")
		oracle.OK(t, os.WriteFile(path, []byte(c.text), 0o600))
		if got, ok := readKilobytes(path, "VmHWM:"); got != c.want || ok != c.ok {
			t.Errorf("%q: %d, %t, want %d, %t", c.text, got, ok, c.want, c.ok)
		}
	}
	if _, ok := readKilobytes(filepath.Join(t.TempDir(), "none"), "VmHWM:"); ok {
		t.Error("a peak without a file")
	}
}

// TestPeakMemory: memory that is written to raises the peak by what it is.
func TestPeakMemory(t *testing.T) {
	ForgetPeak()
	before, ok := PeakMemory()
	if !ok {
		if runtime.GOOS == "linux" || before != 0 {
			t.Errorf("no peak, and %d bytes", before)
		}
		return // PeakMemory says so
	}
	const size = 64 << 20
	data := make([]float64, size/8)
	for i := range data {
		data[i] = float64(i)
	}
	after, _ := PeakMemory()
	if after < before+size*9/10 {
		t.Errorf("the peak rose from %d to %d by %d bytes that were written to", before, after, 8*len(data))
	}
}
