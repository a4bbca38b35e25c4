package gibbs

import "math/rand/v2"

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 41)) }

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func randomCards(rng *rand.Rand, n int) []int32 {
	card := make([]int32, n)
	for s := range card {
		card[s] = 1 + rng.Int32N(3)
	}
	return card
}
