package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
)

// Source is a file that was read, for the record of a run.
type Source struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // hexadecimal
	Bytes  int64  `json:"bytes"`
}

// readSource reads a whole file.
func readSource(path string) ([]byte, Source, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, Source{}, err
	}
	sum := sha256.Sum256(data)
	return data, Source{Path: path, SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(data))}, nil
}

// hashSource reads a file that is too large to be held, or is not needed.
func hashSource(path string, file io.Reader) (Source, error) {
	hash := sha256.New()
	n, err := io.Copy(hash, file)
	if err != nil {
		return Source{}, err
	}
	return Source{Path: path, SHA256: hex.EncodeToString(hash.Sum(nil)), Bytes: n}, nil
}
