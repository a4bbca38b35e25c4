// Package safetensors reads and writes the safetensors format: a little-endian
// uint64 header length, a JSON header naming each tensor's type, shape and byte
// range, and the raw little-endian data. NumPy users open such a file in a line.
//
// Files written here are the same bytes for the same content: tensors are ordered by falling element size and then by
// name (so that all data are aligned), metadata by key, and the header is padded with spaces to a multiple of eight
// bytes.
//
// Neither writing nor reading holds a second copy of the data.
package safetensors
