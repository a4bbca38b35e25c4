package dataset

import (
	"archive/zip"
	"io"
	"math"

	"github.com/blockbp/blockbp/internal/atomicfile"
	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/mrf"
)

// Names of the arrays of a file of potentials, beside edges and states.
const (
	thetaArray     = "theta"
	edgeThetaArray = "theta_uv"
	constantArray  = "constant"
)

// writePotentials writes the arrays that ReadNetwork reads, with −Inf in the places
// beyond a node's states.
func writePotentials(path string, p *mrf.Pairwise) error {
	n, m, k := len(p.Card), p.Graph.NumEdges(), 0
	for _, card := range p.Card {
		k = max(k, int(card))
	}
	edges := make([]int32, 0, 2*m)
	for _, e := range EdgesOf(p.Graph) {
		edges = append(edges, e[0], e[1])
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		archive := zip.NewWriter(w)
		for _, write := range []func() error{
			func() error { return writeEntry(archive, edgesArray, []int{m, 2}, edges) },
			func() error { return writeEntry(archive, statesArray, []int{n}, p.Card) },
			func() error { return writeNodeTables(archive, p, k) },
			func() error { return writeEdgeTables(archive, p, k) },
			func() error { return writeEntry(archive, constantArray, nil, []float64{p.Constant}) },
		} {
			if err := write(); err != nil {
				return err
			}
		}
		return archive.Close()
	})
}

func writeNodeTables(archive *zip.Writer, p *mrf.Pairwise, k int) error {
	w, err := newEntry(archive, thetaArray)
	if err != nil {
		return err
	}
	if err := npy.WriteHeader[float64](w, []int{len(p.Card), k}); err != nil {
		return err
	}
	row := make([]float64, k)
	for s := range p.Card {
		fillRow(row, p.Node[p.NodeAt[s]:p.NodeAt[s+1]])
		if err := npy.WriteData(w, row); err != nil {
			return err
		}
	}
	return nil
}

func writeEdgeTables(archive *zip.Writer, p *mrf.Pairwise, k int) error {
	w, err := newEntry(archive, edgeThetaArray)
	if err != nil {
		return err
	}
	if err := npy.WriteHeader[float64](w, []int{p.Graph.NumEdges(), k, k}); err != nil {
		return err
	}
	table := make([]float64, k*k)
	for e := range p.Graph.NumEdges() {
		rows, columns := int(p.Card[p.Graph.U(int32(e))]), int(p.Card[p.Graph.V(int32(e))])
		for i := range k {
			var values []float64
			if i < rows {
				values = p.Edge[p.EdgeAt[e]+i*columns:][:columns]
			}
			fillRow(table[i*k:][:k], values)
		}
		if err := npy.WriteData(w, table); err != nil {
			return err
		}
	}
	return nil
}

// fillRow copies values and fills the rest with −Inf.
func fillRow(row, values []float64) {
	for i := copy(row, values); i < len(row); i++ {
		row[i] = math.Inf(-1)
	}
}
