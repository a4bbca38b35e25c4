package oracle

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
)

// randomDamages is how many random pairs of flipped bits Damaged makes.
const randomDamages = 2000

// Damaged yields a file with every bit flipped alone, with random pairs of bits flipped,
// and cut off after every byte, each with what was done to it. The bytes are reused.
func Damaged(file []byte, seed uint64) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		b := slices.Clone(file)
		flip := func(bit int) { b[bit/8] ^= 1 << (bit % 8) }
		name := func(bit int) string { return fmt.Sprintf("bit %d of byte %d (%q)", bit%8, bit/8, file[bit/8]) }
		for bit := range 8 * len(b) {
			flip(bit)
			if !yield(name(bit), b) {
				return
			}
			flip(bit)
		}
		random := rand.New(rand.NewPCG(seed, 0))
		for range randomDamages {
			one, other := random.IntN(8*len(b)), random.IntN(8*len(b))
			if one == other {
				continue
			}
			flip(one)
			flip(other)
			if !yield(name(one)+" and "+name(other), b) {
				return
			}
			flip(one)
			flip(other)
		}
		for n := range b {
			if !yield(fmt.Sprintf("all after byte %d", n), b[:n:n]) {
				return
			}
		}
	}
}
