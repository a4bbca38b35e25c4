package job

import (
	"bytes"
	"errors"
	"io"
	"io/fs"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// dataRecord is what data.json holds: the files that a run was given.
type dataRecord struct {
	Files []dataset.Source `json:"files"`
	// Learned is how many of the first files are learned from; the others are of evaluation sets. 0: not known.
	Learned int `json:"learned,omitempty"`
}

// UnmarshalJSON reads the list alone, too, as earlier versions wrote it.
func (d *dataRecord) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte("[")) {
		return fileio.JSON(text, &d.Files)
	}
	type fields dataRecord
	return fileio.JSON(text, (*fields)(d))
}

// readRecord reads a sealed file of a run folder into v, if there is one.
func readRecord(path string, v any) (found bool, err error) {
	text, err := fileio.Read(path, "a record of a run", fileio.Text)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	var repeated *fileio.RepeatedKey
	if err := parseRecord(text, v); errors.As(err, &repeated) {
		return false, dataf("%s:%d: %v", path, repeated.Line, repeated)
	} else if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return false, dataf("%s: it is empty or was cut short; bring it back from a copy, or start a new run", path)
	} else if err != nil {
		return false, dataf("%s: %v; the run cannot be resumed, start a new one", path, err)
	}
	return true, nil
}

// parseRecord reads the text of a sealed file. What is in it decides what a resumed run
// does, so that a field without meaning is refused.
func parseRecord(text []byte, v any) error {
	object, _, err := runfolder.Unseal(text)
	if err != nil {
		return err
	}
	return fileio.JSON(object, v)
}
