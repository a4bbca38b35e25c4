package cli_test

import (
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/simd"
)

// TestSlowPrecision: where single precision brings nothing the user is told, and only there.
func TestSlowPrecision(t *testing.T) {
	data := gridData(t)
	for _, name := range simd.Names() {
		restore, err := simd.Use(name)
		if err != nil {
			t.Fatal(err)
		}
		o := run(t, "train", data, "--precision", "f32", "--max-iter", "2", "--dry-run")
		restore()
		if told := strings.Contains(o.stderr, "f32 is slower than f64 here"); told != (name == "plain") || o.code != 0 {
			t.Errorf("%s: exit code %d, messages: %s", name, o.code, o.stderr)
		}
	}
}
