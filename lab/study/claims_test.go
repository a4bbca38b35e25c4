package study

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// reached is a run that took so many seconds to every level down to the last one.
func reached(name string, seconds float64) Trace {
	t := Trace{Name: name, Step: 1}
	for j := 0; levelDistance(j) >= until*(1-1e-9); j++ {
		t.Levels = append(t.Levels, Level{Distance: levelDistance(j), Effort: Effort{10, seconds, seconds, seconds}})
	}
	return t
}

// times3 are the comparisons of one size with one seed: seconds of BBPL, inner-dual
// learning and full BP at their best steps.
func times3(nodes int, bbpl, inner, full float64) network {
	return network{{
		Problem: Problem{Kind: BA, Size: nodes}, Variables: nodes,
		Traces: []Trace{reached(nameBBPL, bbpl), reached(nameInner, inner), reached(nameFull, full)},
	}}
}

// TestSizeClaims: what figure 4 claims holds from where ratios round to the paper's,
// on the largest network, and only where all the words are true.
func TestSizeClaims(t *testing.T) {
	for _, c := range []struct {
		name  string
		sizes []network
		want  string // held, in the order of sizeClaims
	}{
		{"as in the paper", []network{times3(100, 1, 1.2, 2), times3(1000, 1, 2, 3)}, "yyyyy"},
		{"rounds up", []network{times3(100, 1, 1.2, 2), times3(1000, 1, 1.5, 2.5)}, "yyyyy"},
		{"too little", []network{times3(100, 1, 1.2, 2), times3(1000, 1, 1.49, 2.49)}, "nynyy"},
		{"no growth", []network{times3(100, 1, 2, 3), times3(1000, 1, 2, 3)}, "ynyny"},
		{"one size is slower", []network{times3(100, 1, 0.9, 2), times3(1000, 1, 2, 3)}, "yyyyn"},
		{"one size only", []network{times3(1000, 1, 2, 3)}, "yyy"}, // which says nothing of growth
	} {
		held := ""
		for _, claim := range sizeClaims(BA, "", c.sizes) {
			held += map[bool]string{true: "y", false: "n"}[claim.Held]
			if claim.Measured == "" || claim.Paper == "" {
				t.Errorf("%s: %+v", c.name, claim)
			}
		}
		if held != c.want {
			t.Errorf("%s: held %s, want %s", c.name, held, c.want)
		}
	}
}

// TestSmallerThanTheClaim: a claim about 20,000 nodes that is held against fewer says
// so, and every one says what the steps were.
func TestSmallerThanTheClaim(t *testing.T) {
	for nodes, smaller := range map[int]bool{1000: true, 20000: false} {
		claim := sizeClaims(BA, "", []network{times3(nodes, 1, 2, 3)})[0]
		if strings.Contains(claim.Measured, "smaller than") != smaller ||
			!strings.HasSuffix(claim.Measured, "; steps: BBPL 1, inner-dual 1") {
			t.Errorf("%d nodes: %s", nodes, claim.Measured)
		}
	}
}

// working is a comparison whose work is not in proportion to its time.
func working(nodes int, time, work float64) network {
	cs := times3(nodes, 1, time, time)
	for i := range cs[0].Traces[1:] {
		levels := cs[0].Traces[i+1].Levels
		for j := range levels {
			levels[j].Passes, levels[j].Gradients = work, work
		}
	}
	cs[0].Traces = append(cs[0].Traces, cs[0].Traces[1])
	cs[0].Traces[3].Name = nameRandom
	return cs
}

// TestLevelTimes: work decides where times differ by no more than equal runs do, and only
// there.
func TestLevelTimes(t *testing.T) {
	for _, c := range []struct {
		time, work float64
		slower     bool
	}{{1.51, 0.9, true}, {1.49, 0.99, false}, {1.49, 1.01, true}, {0.68, 1.01, true}, {0.68, 0.99, false},
		{0.66, 2, false}, {math.NaN(), 2, false}} {
		cs := working(100, c.time, c.work)
		if got := timesOf(cs, nameInner, "").slower(); got != c.slower {
			t.Errorf("%+v: slower is %v", c, got)
		}
		order, first := inOrder([]network{cs}), fastest(BA, "", []network{cs})
		if order.Held != c.slower || first.Held != c.slower {
			t.Errorf("%+v: %+v, %+v", c, order, first)
		}
		if level := c.time > 1/levelTimes && c.time < levelTimes; strings.Contains(order.Measured, "level") != level ||
			strings.Contains(first.Measured, "level") != level {
			t.Errorf("%+v: %s; %s", c, order.Measured, first.Measured)
		}
	}
}

// TestGapGrows: growth from the smallest network is not enough: the largest may not be
// below the second largest; where times are level work tells.
func TestGapGrows(t *testing.T) {
	for _, c := range []struct {
		times, work [4]float64
		held        bool
	}{
		{[4]float64{0.25, 0.98, 1.41, 0.84}, [4]float64{1, 1, 1, 2}, false}, // as on grids at the paper's sizes
		{[4]float64{0.25, 0.98, 1.41, 1.2}, [4]float64{1, 1, 1, 1.1}, true},
		{[4]float64{0.25, 0.98, 1.41, 1.6}, [4]float64{1, 1, 1.1, 1}, false},
		{[4]float64{0.25, 0.98, 1.41, 3}, [4]float64{1, 1, 1.1, 1}, true},
		{[4]float64{2, 1, 0.5, 1}, [4]float64{1, 1, 1, 1}, false},
	} {
		var groups []network
		for i, nodes := range []int{100, 1000, 10000, 20000} {
			groups = append(groups, working(nodes, c.times[i], c.work[i]))
		}
		claim := gapGrows(BA, nameInner, "", groups)
		if claim.Held != c.held || strings.Count(claim.Measured, " on BA ") != 4 {
			t.Errorf("%+v: %+v", c, claim)
		}
	}
}

// TestConvergenceClaims: the same optimum needs every run, and significantly less time
// half as much again.
func TestConvergenceClaims(t *testing.T) {
	groups := []network{times3(100, 1, 1, 9), times3(1000, 1, 1, 1.5)}
	if c := sameOptimum(groups); !c.Held {
		t.Errorf("%+v", c)
	}
	if c := lessTime(groups, ""); !c.Held {
		t.Errorf("%+v", c)
	}
	if c := lessTime(groups, nameCommon); c.Held {
		t.Errorf("nothing was measured at a common step: %+v", c)
	}
	groups[1][0].Traces[2] = reached(nameFull, 1.49)
	if c := lessTime(groups, ""); c.Held {
		t.Errorf("%+v", c)
	}
	short := &groups[0][0].Traces[0]
	short.Levels = short.Levels[:len(short.Levels)-1]
	if c := sameOptimum(groups); c.Held || !strings.Contains(c.Measured, "1 of 2") {
		t.Errorf("a run that stops short: %+v", c)
	}
}

// TestOrderClaim: random order has to arrive, and to be slower on every size.
func TestOrderClaim(t *testing.T) {
	at := func(random float64) network {
		cs := times3(100, 1, 1, 1)
		cs[0].Traces = append(cs[0].Traces, reached(nameRandom, random))
		return cs
	}
	for _, c := range []struct {
		groups []network
		held   bool
	}{
		{[]network{at(1.1), at(2)}, true},
		{[]network{at(1.1), at(0.9)}, false},
		{[]network{at(1.1), times3(100, 1, 1, 1)}, false}, // it did not run
	} {
		if claim := inOrder(c.groups); claim.Held != c.held {
			t.Errorf("%+v", claim)
		}
	}
}

// TestBlockClaims: 20 to 25 blocks are level with the fastest number, and the fewest and
// the most take longer, on every network.
func TestBlockClaims(t *testing.T) {
	s := Settings{Scale: Small}
	numbers := blockNumbers(BA, s)
	measured := func(seconds map[int]float64) network {
		c := &Comparison{Problem: Problem{Kind: BA, Size: 100}}
		for _, n := range numbers {
			x := reached(blockName(n), seconds[n])
			for i := range x.Levels {
				x.Levels[i].Iterations = 10 * n
			}
			c.Traces = append(c.Traces, x)
		}
		return network{c}
	}
	best := measured(map[int]float64{5: 3, 10: 2, 20: 1.04, 25: 1.2, 50: 1, 100: 4})
	other := measured(map[int]float64{5: 3, 10: 1, 20: 1.51, 25: 1.6, 50: 1.5, 100: 4})
	flat := measured(map[int]float64{5: 3, 10: 1.4, 20: 1, 25: 1.2, 50: 1.3, 100: 1.49})
	if c := blockClaim(BA, []network{best, best}, numbers); !c.Held {
		t.Errorf("%+v", c)
	}
	if c := blockClaim(BA, []network{best, other}, numbers); c.Held ||
		!strings.Contains(c.Measured, "fastest with 10 blocks") {
		t.Errorf("%+v", c)
	}
	if c := blockClaim(BA, []network{flat}, numbers); c.Held ||
		!strings.Contains(c.Measured, "level within ×1.5: 10, 20, 25, 50, 100 blocks") {
		t.Errorf("%+v", c)
	}
	if c := moreIterations(BA, []network{best}, numbers); !c.Held || !strings.Contains(c.Measured, "×5.00") {
		t.Errorf("%+v", c)
	}
	if c := dearIterations(BA, []network{best}, numbers); !c.Held { // 3 s in 50 iterations, 1.04 s in 200
		t.Errorf("%+v", c)
	}
	if c := moreIterations(BA, []network{{{Problem: Problem{Kind: BA, Size: 100}}}}, numbers); c.Held {
		t.Errorf("nothing was measured: %+v", c)
	}
}

// TestImageClaim: BBPL has to be below the two other methods of the paper, by the points that were kept
// before the time.
func TestImageClaim(t *testing.T) {
	run := func(name string, objective float64) ImageRun {
		return ImageRun{Name: name, Points: []ImagePoint{
			{Effort: Effort{Seconds: 0.5}, Objective: objective + 100}, {Effort: Effort{Seconds: 1}, Objective: objective},
		}}
	}
	c := &ImageComparison{Seconds: 1, Runs: []ImageRun{run(nameBBPL, 5), run(nameInner, 6), run(nameFull, 7)}}
	if claim := c.lowest(1); !claim.Held || claim.Measured != "BBPL 5, inner-dual 6, full BP 7" {
		t.Errorf("%+v", claim)
	}
	if claim := c.lowest(0.25); claim.Held { // nothing is known so early
		t.Errorf("%+v", claim)
	}
	if claim := c.lowest(0.75); !strings.HasPrefix(claim.Measured, "BBPL 105,") {
		t.Errorf("between two points: %+v", claim)
	}
	c.Runs[1].Points[1].Objective = 5
	if claim := c.lowest(1); claim.Held {
		t.Errorf("%+v", claim)
	}
}

// TestRatios: the table behind figure 4 has the ratios, and the steps that were chosen.
func TestRatios(t *testing.T) {
	cs := times3(100, 2, 4, 8)
	cs[0].Traces[1].Step = 7
	var rows []string
	for _, row := range ratioTable([]network{cs}).Rows {
		rows = append(rows, strings.Join(row[1:], "|"))
	}
	for _, want := range []string{
		"best steps|inner-dual|7|1|2.00|2.00|2.00", "best steps|full BP|1|1|4.00|4.00|4.00",
		"common step|inner-dual|–|–|–|–|–", // it was not run
	} {
		if !slices.Contains(rows, want) {
			t.Errorf("%q is not in the table:\n%s", want, strings.Join(rows, "\n"))
		}
	}
}

// TestRegionNames: numbers stand for the regions of the data set, names for themselves.
func TestRegionNames(t *testing.T) {
	for _, c := range []struct {
		classes []string
		last    string
	}{{[]string{"0", "1", "2", "3", "4", "5", "6", "7"}, "foreground"}, {[]string{"0", "1"}, "1"},
		{[]string{"a", "b"}, "b"}} {
		if got := (&Segmentation{Classes: c.classes}).names(); got[len(got)-1] != c.last || len(got) != len(c.classes) {
			t.Errorf("%q are called %q", c.classes, got)
		}
	}
}
