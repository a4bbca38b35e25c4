package cli_test

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/blockbp/blockbp"
	"github.com/blockbp/blockbp/internal/oracle"
)

// accounts writes tables of accounts and payments among them: frauds pay frauds. Rows are in
// an order of their own, and payments any way round, for each order but 0.
func accounts(t *testing.T, order uint64) (folder string) {
	t.Helper()
	const n = 400
	rng := rand.New(rand.NewPCG(7, 7))
	var nodes, edges []string
	fraud := make([]bool, n)
	id := func(i int) string { return fmt.Sprintf("acct-%x", uint32(i)*2654435761) }
	for i := range n {
		fraud[i] = rng.Float64() < 0.25
		label, amount := "ok", rng.NormFloat64()
		if fraud[i] {
			label, amount = "fraud", amount+0.8
		}
		split, age := "train", fmt.Sprintf("%.1f", 40+12*rng.NormFloat64())
		if i%4 == 3 {
			split = "test"
		}
		if i%11 == 5 {
			age = ""
		}
		nodes = append(nodes, fmt.Sprintf("%s,%s,%s,%.3f,%s,%s\n", id(i), label, split, amount, age, []string{"shop", "bank", "home"}[rng.IntN(3)]))
	}
	seen := map[[2]int]bool{}
	for len(edges) < 3*n {
		u, v := rng.IntN(n), rng.IntN(n)
		if u == v || seen[[2]int{min(u, v), max(u, v)}] || fraud[u] != fraud[v] && rng.Float64() < 0.7 {
			continue
		}
		seen[[2]int{min(u, v), max(u, v)}] = true
		edges = append(edges, fmt.Sprintf("%s,%s,%.2f\n", id(u), id(v), rng.ExpFloat64()))
	}
	if order > 0 {
		rng = rand.New(rand.NewPCG(order, 1))
		for i, row := range edges {
			if cells := strings.Split(row, ","); rng.IntN(2) == 0 {
				edges[i] = cells[1] + "," + cells[0] + "," + cells[2]
			}
		}
		rng.Shuffle(n, func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		rng.Shuffle(len(edges), func(i, j int) { edges[i], edges[j] = edges[j], edges[i] })
	}
	folder = t.TempDir()
	writeFile(t, filepath.Join(folder, "accounts.csv"), "id,label,split,amount,age,kind\n"+strings.Join(nodes, ""))
	writeFile(t, filepath.Join(folder, "payments.csv"), "source,target,sum\n"+strings.Join(edges, ""))
	return folder
}

// probabilities reads a table of predictions: the cells of each identifier, and the
// identifiers as they stand.
func probabilities(t *testing.T, path string) (of map[string][]string, ids []string) {
	t.Helper()
	file := oracle.Must(os.Open(path))(t)
	defer file.Close()
	rows := oracle.Must(csv.NewReader(file).ReadAll())(t)
	of = map[string][]string{}
	for _, row := range rows[1:] {
		of[row[0]], ids = row[1:], append(ids, row[0])
	}
	return of, ids
}

// TestPredictionsFollowRows: arrays and the door have nodes in the order of the rows, as
// tables of predictions do.
func TestPredictionsFollowRows(t *testing.T) {
	t.Parallel()
	folder := accounts(t, 2)
	data := folder + "/accounts.csv " + folder + "/payments.csv "
	dir := t.TempDir()
	model, table, arrays := filepath.Join(dir, "run"), filepath.Join(dir, "out.csv"), filepath.Join(dir, "out")
	mustRun(t, strings.Fields("train "+data+"-q --report=false --max-passes 60 -o "+model)...)
	mustRun(t, strings.Fields("predict "+data+"-q -m "+model+" -o "+table)...)
	mustRun(t, strings.Fields("predict "+data+"-q -m "+model+" -o "+arrays)...)
	of, ids := probabilities(t, table)
	_, beliefs := npyOf(t, filepath.Join(arrays, "accounts.npz"), "beliefs")
	m := oracle.Must(blockbp.Load(model))(t)
	opened := oracle.Must(blockbp.Open(strings.Fields(data)...))(t)
	all := oracle.Must(m.Predict(t.Context(), opened))(t)
	for row, id := range ids {
		want, err := strconv.ParseFloat(of[id][1], 64) // of fraud, the first state
		if err != nil || math.Abs(beliefs[2*row]-want) > 1e-5 || math.Abs(all[0].Beliefs[row][0]-want) > 1e-5 || all[0].Labels[row] != of[id][0] {
			t.Fatalf("row %d, %s: %q, in arrays %v, in Go %v (%v)", row, id, of[id], beliefs[2*row], all[0].Beliefs[row], err)
		}
	}
}
