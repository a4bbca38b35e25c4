package distributed

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestEverything in one process, with messages whole and in pieces.
func TestEverything(t *testing.T) {
	defer func(whole int) { largestMessage = whole }(largestMessage)
	hashes := map[string]bool{}
	for _, largest := range []int{largestMessage, 1000} {
		largestMessage = largest
		for ranks := 1; ranks <= 5; ranks++ {
			err := Local(ranks, 0, func(g *Group) error {
				hash, err := everything(g)
				if g.Rank() == 0 {
					hashes[hash] = true
				}
				return err
			})
			if err != nil {
				t.Errorf("%d ranks, messages of up to %d bytes: %v", ranks, largest, err)
			}
		}
	}
	oracle.Equal(t, len(hashes), 1, "how many different results")
}

// TestStall: the message says who waits in what and for whom.
func TestStall(t *testing.T) {
	err := Local(3, 50*time.Millisecond, func(g *Group) error {
		if g.Rank() == 2 {
			time.Sleep(300 * time.Millisecond)
			return nil
		}
		g.Agree([]float64{1})
		g.Any(false)
		return nil
	})
	if err == nil {
		t.Fatal("no error, though rank 2 never came")
	}
	oracle.WantError(t, err, "rank 0 (process ", "ends the job: agree", "after 0.", "nothing came from rank 2 (process ")
	if strings.Contains(err.Error(), "from rank 1") {
		t.Errorf("the error names rank 1, which came:\n%v", err)
	}
}

// TestAbort: all ranks end, those that wait too.
func TestAbort(t *testing.T) {
	err := Local(3, 0, func(g *Group) error {
		if g.Rank() == 1 {
			g.Abort("enough", 3)
		}
		g.Any(false)
		return fmt.Errorf("rank %d went on", g.Rank())
	})
	if err == nil || strings.Contains(err.Error(), "went on") || !strings.Contains(err.Error(), "ends the job: enough") {
		t.Errorf("the error is %v", err)
	}
}

// TestDetect: what launchers set, and what others set.
func TestDetect(t *testing.T) {
	for _, l := range launchers {
		t.Setenv(l.rank, "")
		t.Setenv(l.size, "")
	}
	t.Setenv("SLURM_PROCID", "0") // also in the script of a job, which is no rank
	t.Setenv("SLURM_NTASKS", "4")
	if launch, found := Detect(); found {
		t.Errorf("found %+v without a launcher", launch)
	}
	for _, c := range []struct {
		set  map[string]string
		want Launch
	}{
		{map[string]string{"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "PMIX_RANK": "1"}, Launch{"Open MPI", 1, 4, "OMPI_COMM_WORLD_RANK"}},
		{map[string]string{"PMI_RANK": "2", "PMI_SIZE": "3", "MPI_LOCALRANKID": "0", "MPI_LOCALNRANKS": "1"}, Launch{"MPICH", 2, 3, "PMI_RANK"}},
		{map[string]string{"MPI_LOCALRANKID": "0", "MPI_LOCALNRANKS": "2"}, Launch{"MPICH", -1, -1, "MPI_LOCALRANKID"}},
		{map[string]string{"PMIX_RANK": "0", "SLURM_STEP_NUM_TASKS": "8"}, Launch{"PMIx", 0, 8, "PMIX_RANK"}},
		{map[string]string{"PMIX_RANK": "0"}, Launch{"PMIx", 0, -1, "PMIX_RANK"}},
	} {
		t.Run("", func(t *testing.T) {
			for name, value := range c.set {
				t.Setenv(name, value)
			}
			if launch, found := Detect(); !found || launch != c.want {
				t.Errorf("with %v: %+v, %v; want %+v", c.set, launch, found, c.want)
			}
		})
	}
}

func TestDisagree(t *testing.T) {
	launch := Launch{By: "MPICH", Rank: 2, Size: 4}
	oracle.OK(t, disagree(launch, "x", 4))
	oracle.WantError(t, disagree(launch, "x", 1), "rank 2 of 4, but the library x sees 1", Variable)
	launch.Size = -1
	oracle.OK(t, disagree(launch, "x", 1))
}

// everything calls all there is, checks what is known, and returns a hash of what must be
// the same for all numbers of ranks.
func everything(g *Group) (hash string, err error) {
	sum := sha256.New()
	source := rand.New(rand.NewPCG(5, 6)) // the same draws on all ranks
	for _, parts := range []int{5, 64} {
		for _, n := range []int{1, 1000, 9000} {
			x := uneven(parts, n, 7)
			want := make([]float64, n)
			new(Tree).Sum(want, x)
			bounds := boundsOf(parts, g.Size(), source)
			got := make([]float64, n)
			if g.Sum(got, x[bounds[g.Rank()]:bounds[g.Rank()+1]], bounds); !sameBits(got, want) {
				return "", fmt.Errorf("rank %d: a sum of %d parts of %d numbers is wrong, bounds %v", g.Rank(), parts, n, bounds)
			}
			_ = binary.Write(sum, binary.LittleEndian, got) // a hash takes all
		}
	}
	for _, check := range []func(*Group) error{gathers, agrees, exchanges, texts, togethers} {
		if err := check(g); err != nil {
			return "", fmt.Errorf("rank %d: %w", g.Rank(), err)
		}
	}
	g.Any(false)
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}

// gathers has vectors of unlike lengths; that of rank 1 is empty, and the last lies in its place.
func gathers(g *Group) error {
	lengths := make([]int, g.Size())
	var want []float64
	start := 0
	for r := range lengths {
		if r != 1 {
			lengths[r] = 3*r + 2000
		}
		if r == g.Rank() {
			start = len(want)
		}
		for i := range lengths[r] {
			want = append(want, float64(1000*r+i))
		}
	}
	dst := make([]float64, len(want))
	own := want[start : start+lengths[g.Rank()]]
	if g.Rank() == g.Size()-1 {
		own = dst[start : start+copy(dst[start:], own)]
	}
	if g.Gather(dst, own, lengths); !slices.Equal(dst, want) {
		return errors.New("gather is wrong")
	}
	return nil
}

func agrees(g *Group) error {
	x := []float64{float64(g.Rank()) + 0.5, 7}
	if g.Agree(x); !slices.Equal(x, []float64{0.5, 7}) {
		return fmt.Errorf("agreed on %v", x)
	}
	for r := range g.Size() {
		if !g.Any(r == g.Rank()) {
			return fmt.Errorf("a flag of rank %d is lost", r)
		}
	}
	if g.Any(false) {
		return errors.New("a flag is set that nobody set")
	}
	return nil
}

// exchanges sends to the neighbours in a line, of lengths that differ by way.
func exchanges(g *Group) error {
	length := func(from, to int) int {
		if from-to != 1 && to-from != 1 {
			return 0
		}
		return 10_000*from + 7*to + 1
	}
	send, recv := make([][]float64, g.Size()), make([][]float64, g.Size())
	for r := range g.Size() {
		send[r] = make([]float64, length(g.Rank(), r))
		recv[r] = make([]float64, length(r, g.Rank()))
	}
	for round := range 3 {
		for r := range send {
			for i := range send[r] {
				send[r][i] = float64(1_000_000*round + 100_000*g.Rank() + i)
			}
		}
		g.Exchange(send, recv)
		for r := range recv {
			for i, x := range recv[r] {
				if want := float64(1_000_000*round + 100_000*r + i); x != want {
					return fmt.Errorf("number %d of rank %d is %g, want %g", i, r, x, want)
				}
			}
		}
	}
	return nil
}

func texts(g *Group) error {
	all := g.Bytes(bytes.Repeat([]byte{'a'}, 5*g.Rank()))
	for r := range all {
		if len(all[r]) != 5*r {
			return fmt.Errorf("%d bytes came from rank %d, want %d", len(all[r]), r, 5*r)
		}
	}
	return nil
}

func togethers(g *Group) error {
	team := NewTeam(g)
	if err := team.Common(nil, nil); err != nil {
		return fmt.Errorf("there is an error of nobody: %w", err)
	}
	last := g.Size() - 1
	own := error(nil)
	if g.Rank() == last {
		own = errors.New("")
	}
	err := team.Common(own, nil)
	var common *commonError
	if g.Size() > 1 && (!errors.As(err, &common) || common.process != last) || g.Rank() == last && !errors.Is(err, own) {
		return fmt.Errorf("together, the error is %v", err)
	}
	return nil
}

// recursive is the sum as the text of Tree has it.
func recursive(parts []float64, from, size int) (sum float64, exists bool) {
	if from >= len(parts) {
		return 0, false
	}
	if size == 1 {
		return parts[from], true
	}
	left, _ := recursive(parts, from, size/2)
	if right, exists := recursive(parts, from+size/2, size/2); exists {
		return left + right, true
	}
	return left, true
}

// uneven draws numbers whose sums depend on the order.
func uneven(parts, n int, seed uint64) [][]float64 {
	source := rand.New(rand.NewPCG(seed, uint64(parts)))
	x := make([][]float64, parts)
	for p := range x {
		x[p] = make([]float64, n)
		for i := range x[p] {
			x[p][i] = source.NormFloat64() * math.Exp(8*source.NormFloat64())
		}
	}
	return x
}

func sameBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}

// TestTreeIsRecursive holds the sum against its definition, for dst of its own and for one that is a part.
func TestTreeIsRecursive(t *testing.T) {
	var tree Tree
	for _, parts := range []int{1, 2, 3, 5, 7, 8, 13, 64, 100} {
		for _, n := range []int{0, 1, 3, chunk, 2*chunk + 7} {
			x := uneven(parts, n, 1)
			want, column := make([]float64, n), make([]float64, parts)
			for i := range want {
				for p := range x {
					column[p] = x[p][i]
				}
				want[i], _ = recursive(column, 0, 1<<20)
			}
			got := make([]float64, n)
			if tree.Sum(got, x); !sameBits(got, want) {
				t.Errorf("the sum of %d parts of %d numbers is not that of the tree", parts, n)
			}
			if tree.Sum(x[parts-1], x); !sameBits(x[parts-1], want) {
				t.Errorf("the sum of %d parts of %d numbers differs where it replaces a part", parts, n)
			}
		}
	}
}

// boundsOf deals parts to ranks at random; some get none.
func boundsOf(parts, ranks int, source *rand.Rand) []int {
	bounds := []int{0, parts}
	for len(bounds) <= ranks {
		bounds = append(bounds, source.IntN(parts+1))
	}
	slices.Sort(bounds)
	return bounds
}

// TestSubtreesAreFew: a rank sends about two for each level at most, and one where its parts are a subtree.
func TestSubtreesAreFew(t *testing.T) {
	for from := range 64 {
		for to := from; to <= 64; to++ {
			nodes := appendSubtrees(nil, from, to, 64)
			next := from
			for _, n := range nodes {
				oracle.MustEqual(t, n.first, next, "subtrees of [%d, %d) are %v: next", from, to, nodes)
				next += n.size
			}
			if next != to || len(nodes) > 10 {
				t.Errorf("subtrees of [%d, %d) are %v", from, to, nodes)
			}
		}
	}
	for _, c := range []struct{ from, to, parts int }{{0, 64, 64}, {32, 64, 64}, {32, 50, 50}, {48, 50, 50}, {0, 1, 1}, {0, 5, 5}} {
		oracle.Equal(t, len(appendSubtrees(nil, c.from, c.to, c.parts)), 1, "subtrees of %+v", c)
	}
}
