package safetensors

import (
	"fmt"
	"hash/crc32"
	"regexp"
)

// ChecksumKey is the metadata key of the checksum of a whole file: its length, header and data, with zeros in the
// place of the eight digits of the checksum itself. A file whose metadata have the key with an empty value is written
// with the checksum filled in; File.Verify checks it.
//
// CRC-32C finds what happens to files by chance: every change of up to three bits in a file of up to 256 MiB, every
// burst of up to 32 bits, and all but one in four thousand million of others. It takes a tenth of the time of
// SHA-256, which would hold against someone who means to deceive, and who could write a new digest as well.
const ChecksumKey = "checksum"

const (
	checksumPrefix = "crc32c:"
	zeroDigits     = "00000000"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli) // has hardware support on amd64 and arm64

// running is a checksum of what was written so far.
type running struct{ sum uint32 }

func (r *running) Write(p []byte) (int, error) {
	r.sum = crc32.Update(r.sum, castagnoli, p)
	return len(p), nil
}

// sealed finds the checksum in a header, at the beginning of a key: no text between quotes has such a place.
var sealed = regexp.MustCompile(`[{,]\s*"` + ChecksumKey + `"\s*:\s*"` + checksumPrefix + `([0-9a-f]{8})"`)

// sumBefore is the checksum of what stands before the data, and where in the header its digits are: they are the only
// bytes of the file that it does not see.
func sumBefore(length, header []byte) (sum uint32, digits []byte, err error) {
	at := sealed.FindSubmatchIndex(header)
	if at == nil {
		return 0, nil, fmt.Errorf("metadata %q are not %sXXXXXXXX: the file is damaged, or a newer blockbp wrote it",
			ChecksumKey, checksumPrefix)
	}
	for _, part := range [][]byte{length, header[:at[2]], []byte(zeroDigits), header[at[3]:]} {
		sum = crc32.Update(sum, castagnoli, part)
	}
	return sum, header[at[2]:at[3]], nil
}
