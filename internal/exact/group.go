package exact

import "github.com/blockbp/blockbp/mrf"

// buildGroup multiplies the group's factors into one table.
func (p *Plan) buildGroup(g *group) table {
	t := p.logGroup(g)
	x := newExtent(true)
	x.addLog(t.entries)
	t.shift = t.normalizeLog(x)
	return t
}

// logGroup adds the logarithms of the group's factors.
func (p *Plan) logGroup(g *group) table {
	t := table{entries: make([]float64, g.entries), logarithmic: true}
	for _, f := range g.factors {
		factor := &p.network.Factors[f]
		p.eachEntry(g, factor, func(inGroup, inFactor int) { t.entries[inGroup] += factor.LogTable[inFactor] })
	}
	return t
}

// eachEntry calls visit with the offsets of every joint state of the group in the group's table and in the factor's.
func (p *Plan) eachEntry(g *group, factor *mrf.Factor, visit func(inGroup, inFactor int)) {
	card := make([]int, len(g.scope))
	strides := make([]int, len(g.scope)) // in the factor's table
	for i, position := range g.scope {
		card[i] = p.network.Card[p.order[position]]
		stride := 1
		for j := len(factor.Scope) - 1; j >= 0; j-- {
			if factor.Scope[j] == int(p.order[position]) {
				strides[i] = stride
			}
			stride *= p.network.Card[factor.Scope[j]]
		}
	}
	digits := make([]int, len(g.scope))
	inFactor := 0
	for inGroup := range g.entries {
		visit(inGroup, inFactor)
		for i := len(digits) - 1; i >= 0; i-- {
			digits[i]++
			inFactor += strides[i]
			if digits[i] < card[i] {
				break
			}
			inFactor -= digits[i] * strides[i]
			digits[i] = 0
		}
	}
}
