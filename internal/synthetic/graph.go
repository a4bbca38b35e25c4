package synthetic

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/dataset"
)

const (
	papers           = 400
	citedByPaper     = 2   // papers that a new one cites
	sameTopicChance  = 0.7 // of a citation to stay within the topic
	vocabulary       = 120 // words, an equal share of which belongs to each topic
	wordsOfPaper     = 8
	topicWordChance  = 0.4 // of a word to be one of the topic's own
	trainPapers      = 40  // papers with labels to learn from
	validationPapers = 80
)

var topics = []string{"inference", "learning", "optimisation", "vision"}

// fillGraph writes papers.nodes.tsv and papers.edges.tsv.
func fillGraph(f *folder, seed uint64) {
	rng, topic := source(seed, 0), make([]int, papers)
	for i := range topic {
		topic[i] = i % len(topics)
	}
	rng.Shuffle(papers, func(i, j int) { topic[i], topic[j] = topic[j], topic[i] })
	var nodes strings.Builder
	nodes.WriteString("#node\tlabel\tsplit\tfeatures\n")
	for i, rank := range rng.Perm(papers) {
		split := "test"
		switch {
		case rank < trainPapers:
			split = "train"
		case rank < trainPapers+validationPapers:
			split = "val"
		}
		fmt.Fprintf(&nodes, "paper%d\t%d\t%s\t%s\n", i, topic[i], split, paperWords(topic[i], rng))
	}
	f.text("papers.nodes.tsv", nodes.String())
	f.text("papers.edges.tsv", citations(topic, rng))
	f.manifest("", dataset.Manifest{States: topics})
}

// paperWords are the numbers of a paper's words, rising.
func paperWords(topic int, rng *rand.Rand) string {
	words := make([]int, wordsOfPaper)
	for i := range words {
		words[i] = rng.IntN(vocabulary)
		if own := vocabulary / len(topics); rng.Float64() < topicWordChance {
			words[i] = topic*own + rng.IntN(own)
		}
	}
	slices.Sort(words)
	return spaced(slices.Compact(words))
}

// citations lets every paper cite earlier ones, most of its own topic.
func citations(topic []int, rng *rand.Rand) string {
	var edges strings.Builder
	for i := len(topics); i < papers; i++ {
		cited := map[int]bool{}
		for range citedByPaper {
			same := rng.Float64() < sameTopicChance
			for range papers { // the first few may have none of their topic before them
				if j := rng.IntN(i); (topic[j] == topic[i]) == same && !cited[j] {
					cited[j] = true
					fmt.Fprintf(&edges, "paper%d\tpaper%d\n", i, j)
					break
				}
			}
		}
	}
	return edges.String()
}
