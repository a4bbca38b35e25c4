package distributed

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
)

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
	if err := g.Together(nil); err != nil {
		return fmt.Errorf("there is an error of nobody: %w", err)
	}
	last := g.Size() - 1
	own := error(nil)
	if g.Rank() == last {
		own = errors.New("")
	}
	err := g.Together(own)
	var other *RankError
	if g.Rank() == last && err != own || g.Rank() != last && (!errors.As(err, &other) || other.Rank != last) {
		return fmt.Errorf("together, the error is %v", err)
	}
	return nil
}
