package runfolder

import (
	"bytes"
	"encoding/json"
	"math"
)

// Float is a number that JSON can always hold: NaN and ±Inf are written as null, and null is read as NaN.
type Float float64

// MarshalJSON implements json.Marshaler.
func (f Float) MarshalJSON() ([]byte, error) {
	if !isFinite(float64(f)) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(f))
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *Float) UnmarshalJSON(text []byte) error {
	if bytes.Equal(text, []byte("null")) {
		*f = Float(math.NaN())
		return nil
	}
	return json.Unmarshal(text, (*float64)(f))
}

// isFinite tells whether v is neither NaN nor infinite.
func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
