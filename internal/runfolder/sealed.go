package runfolder

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"regexp"
	"slices"

	"github.com/blockbp/blockbp/internal/printable"
)

// What stands at the end of a sealed file, around the eight digits of its checksum: the
// last entry of a JSON object that was written with indentation.
const (
	sealBegin  = ",\n  \"checksum\": \"crc32c:"
	sealEnd    = "\"\n" + objectEnd
	objectEnd  = "}\n"
	sealDigits = 8
)

// WriteSealed is WriteJSON for an object with fields, which gets a checksum of itself as its last entry: what a
// resumed run does follows from such files, so that a number which JSON cannot hold is an error unless it is a Float.
func (run *Run) WriteSealed(name string, v any) error {
	text, err := printable.Encode(v, indent)
	if err != nil {
		return fmt.Errorf("writing %s: %w", run.Path(name), err)
	}
	body, ok := bytes.CutSuffix(append(text, '\n'), []byte("\n"+objectEnd))
	if !ok {
		panic(fmt.Sprintf("runfolder: %s has no object with fields to seal", name))
	}
	return run.WriteFile(name, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s%s%08x%s", body, sealBegin, checksum(body), sealEnd)
		return err
	})
}

// anySeal finds a checksum wherever it stands: within a JSON string its quotes would have backslashes.
var anySeal = regexp.MustCompile(`"checksum"\s*:\s*"crc32c:`)

// Unseal returns what WriteSealed was given from the text of its file, and refuses one that has another checksum. A
// text without any, which earlier versions wrote, is not sealed: where damage to the checksum itself makes a text
// look so, the key stays behind, which a reader that refuses unknown fields finds.
func Unseal(text []byte) (object []byte, sealed bool, err error) {
	at := len(text) - len(sealBegin) - sealDigits - len(sealEnd)
	if at < 0 || !bytes.HasPrefix(text[at:], []byte(sealBegin)) || !bytes.HasSuffix(text, []byte(sealEnd)) {
		if anySeal.Match(text) {
			return nil, true, errors.New("its checksum does not stand at its end as it was written: it is damaged, or was " +
				"changed by hand")
		}
		return text, false, nil
	}
	body, digits := text[:at], text[at+len(sealBegin):][:sealDigits]
	if want := fmt.Sprintf("%08x", checksum(body)); string(digits) != want {
		return nil, true, fmt.Errorf("it has the checksum crc32c:%s, and says crc32c:%s: it is damaged, or was changed "+
			"by hand", want, digits)
	}
	return slices.Concat(body, []byte("\n"+objectEnd)), true, nil
}

func checksum(text []byte) uint32 { return crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)) }
