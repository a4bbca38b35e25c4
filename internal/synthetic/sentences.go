package synthetic

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/blockbp/blockbp/dataset"
)

var (
	partsOfSpeech = []string{"determiner", "adjective", "noun", "verb"}
	// words of each part of speech: many stand in several lists, so that only the words around them tell which they are.
	words = [][]string{
		{"the", "a", "this", "every"},
		{"red", "old", "light", "cool", "dry", "clean", "open", "round", "back", "calm", "short"},
		{"dog", "house", "light", "book", "watch", "play", "plant", "cook", "round", "back", "calm", "open"},
		{"sees", "light", "book", "watch", "play", "plant", "cook", "cool", "dry", "clean", "open", "calm"},
	}
	// follows lists what may come after each part of speech, the likelier more often.
	follows = [][]int{{1, 2, 2, 2}, {2, 2, 2, 1}, {3}, {0, 0, 0, 1, 2}}
)

// fillSentences writes tagged text, train.conll and test.conll, and of each a folder with one chain per sentence,
// whose features are the words one-hot.
func fillSentences(f *folder, seed uint64) {
	vocabulary := slices.Compact(slices.Sorted(slices.Values(slices.Concat(words...))))
	for i, w := range vocabulary {
		vocabulary[i] = "word " + w
	}
	for part, count := range map[string]int{"train": 60, "test": 40} {
		text := ""
		for i := range count {
			tags, spoken := sentence(source(seed, uint64(i)<<1+uint64(len(part)&1)))
			for k, word := range spoken {
				text += word + "\t" + partsOfSpeech[tags[k]] + "\n"
			}
			text += "\n"
			f.npz(fmt.Sprintf("%s/%d.npz", part, i), chain(tags, spoken, vocabulary))
		}
		f.text(part+".conll", text)
		f.manifest(part, dataset.Manifest{States: partsOfSpeech, NodeFeatures: vocabulary})
	}
}

// sentence draws the part of speech of 4 to 12 words, and the words.
func sentence(rng *rand.Rand) (tags []int32, spoken []string) {
	tag := rng.IntN(2) // a determiner or an adjective
	for range 4 + rng.IntN(9) {
		tags = append(tags, int32(tag))
		spoken = append(spoken, words[tag][rng.IntN(len(words[tag]))])
		tag = follows[tag][rng.IntN(len(follows[tag]))]
	}
	return tags, spoken
}

// chain is one sentence as an instance.
func chain(tags []int32, spoken, vocabulary []string) *dataset.Arrays {
	arrays := &dataset.Arrays{
		Labels:       [][]int32{tags},
		NodeFeatures: &dataset.Matrix{Columns: len(vocabulary), Data: make([]float64, len(spoken)*len(vocabulary))},
		Directed:     true, // what comes after what
	}
	for i, w := range spoken {
		arrays.NodeFeatures.Data[i*len(vocabulary)+slices.Index(vocabulary, "word "+w)] = 1
		if i > 0 {
			arrays.Edges = append(arrays.Edges, [2]int32{int32(i - 1), int32(i)})
		}
	}
	return arrays
}
