package cli

import "testing"

func TestParseSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"1": 1, "4096": 4096, "1KiB": 1024, "1kb": 1000, "2GiB": 2 << 30, "1.5 GiB": 3 << 29, "40gib": 40 << 30, "3MB": 3e6, "7B": 7, "1e3": 1000,
		"": 0, "0": 0, "-1": 0, "x": 0, "GiB": 0, "1 parsec": 0, "1G": 0, "NaN": 0, "Inf": 0, "0x10": 0, "1_0": 0, "1e30": 0, "0.5": 0, "9e6TiB": 0, "1 2": 0,
	} {
		got, err := parseSize(text)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("parseSize(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
}
