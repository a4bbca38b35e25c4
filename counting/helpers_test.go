package counting

import (
	"math"
	"math/rand/v2"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
)

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 11)) }

// legal returns the value of a call that may not fail here.
func legal[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// loopyGraphs are small enough to enumerate.
func loopyGraphs() map[string]*graph.Graph {
	return map[string]*graph.Graph{
		"triangle": legal(gen.Complete(3)),
		"K5":       legal(gen.Complete(5)),
		"grid":     legal(graph.Grid(2, 4, graph.GridOptions{})),
		"scale":    legal(gen.BarabasiAlbert(7, 2, source(5))),
		"pieces":   legal(graph.FromEdges(7, []int32{2, 0, 1, 4}, []int32{1, 2, 0, 5})), // a triangle, an edge, lone nodes
	}
}

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance*(1+math.Abs(b)) }
