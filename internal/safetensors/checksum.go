package safetensors

import (
	"fmt"
	"hash/crc32"
	"strings"
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

// sumBefore is the checksum of what stands before the data. The value of ChecksumKey must stand in the header as it
// was written, as its digits are the only bytes of the file that the checksum does not see.
func (p *parsed) sumBefore(length, header []byte) (uint32, error) {
	value := p.metadata[ChecksumKey]
	digits, ok := strings.CutPrefix(value, checksumPrefix)
	if !ok || len(digits) != len(zeroDigits) {
		return 0, fmt.Errorf("metadata %q is %q, want %sXXXXXXXX: the file is damaged, or a newer blockbp wrote it",
			ChecksumKey, value, checksumPrefix)
	}
	end := p.sumEnd - len(`"`)
	begin := end - len(digits)
	if begin < 0 || string(header[begin:end]) != digits {
		return 0, fmt.Errorf("metadata %q is spelled in another way than it was written: the file is damaged", ChecksumKey)
	}
	sum := crc32.Update(0, castagnoli, length)
	sum = crc32.Update(sum, castagnoli, header[:begin])
	sum = crc32.Update(sum, castagnoli, []byte(zeroDigits))
	return crc32.Update(sum, castagnoli, header[end:]), nil
}
