package fileio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// JSON decodes one value, and refuses unknown fields and anything after it.
func JSON(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	decoder.UseNumber() // seeds may have more digits than a float64
	if err := decoder.Decode(into); err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("the JSON ends too early: %w", err)
	} else if err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("there is text after the closing brace")
	}
	return nil
}
