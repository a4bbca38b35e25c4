package runfolder

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/atomicfile"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestLongLine: a line without an end is refused, and is not kept.
func TestLongLine(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]bool{longestLine - 100: false, longestLine + 1: true} {
		path := filepath.Join(t.TempDir(), MetricsFile)
		line := `{"iter":1}` + strings.Repeat(" ", size-10) + "\n"
		oracle.OK(t, atomicfile.Write(path, func(w io.Writer) error { _, err := io.WriteString(w, line+line); return err }))
		_, err := ReadMetrics(path)
		var wrong *LineError
		if got := errors.As(err, &wrong) && wrong.Line == 1 && errors.Is(err, errLongLine); got != want {
			t.Errorf("%d bytes: %v, want a refusal: %v", size, err, want)
		}
	}
}
