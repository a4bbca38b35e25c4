package exact

import "math"

// forward computes all messages from the leaves to the roots and returns log Z.
// keep holds on to the messages for the way back.
func (r *run) forward(keep bool) (logZ float64, err error) {
	for f := range r.plan.network.Factors {
		if factor := &r.plan.network.Factors[f]; len(factor.Scope) == 0 {
			logZ += factor.LogTable[0]
		}
	}
	for i := range r.plan.buckets {
		b := &r.plan.buckets[i]
		r.messages[i] = r.take(b.entries)
		if !r.dry {
			if err := r.ctx.Err(); err != nil {
				return 0, err
			}
			if zero, err := r.computeMessage(i); zero || err != nil {
				return math.Inf(-1), err
			}
			if b.parent == noParent {
				logZ += r.messages[i].shift + r.messages[i].logEntry(0)
			}
		}
		if !keep {
			r.groups[i] = nil
			for _, c := range b.children {
				r.give(&r.messages[c])
			}
		}
	}
	return logZ, nil
}

// computeMessage fills r.messages[i]. zero reports that all of it, and so Z, is zero.
func (r *run) computeMessage(i int) (zero bool, err error) {
	b := &r.plan.buckets[i]
	for g := range b.groups {
		r.groups[i] = append(r.groups[i], r.plan.buildGroup(&b.groups[g]))
	}
	inputs, scopes := r.inputs(i)
	message := &r.messages[i]
	for _, t := range inputs {
		if t.zero {
			return true, nil
		}
		message.shift += t.shift
	}
	logarithmic := needsLogs(inputs)
	for _, t := range inputs {
		if logarithmic {
			t.toLog()
		}
	}
	loop, product := r.multiply(i, inputs, scopes)
	sumOut, normalize := r.sumOutLinear, message.normalizeLinear
	if logarithmic {
		sumOut, normalize = r.sumOutLog, message.normalizeLog
	}
	x, err := sumOut(loop, product, loop.addView(b, b.scope[1:], message.entries))
	if err != nil {
		return false, err
	}
	logScale := normalize(x)
	message.shift += logScale
	r.ways[i] = way{logarithmic, logScale}
	return message.zero, nil
}

// needsLogs reports whether a product of positive entries, one of each table,
// could leave the range in which float64 is exact.
func needsLogs(tables []*table) bool {
	span := 0.0
	for _, t := range tables {
		if t.logarithmic {
			return true
		}
		span += t.span + math.Ln2 // the largest entry may be as small as 1/2
	}
	return span > safeSpan
}

// sumOutLinear sums the bucket's own variable out of the product, and returns the result's extent.
func (r *run) sumOutLinear(l *loop, p *product, message *view) (extent, error) {
	block := r.scratch(0, l.block)
	x := newExtent(false)
	err := r.eachBlock(l, func() {
		sum := message.block(0)
		empty := true
		for own := range l.own {
			switch {
			case !empty:
				if p.linear(block, own) {
					add(sum, block)
				}
			case p.linear(sum, own):
				empty = false
			}
		}
		if empty {
			clear(sum)
			return
		}
		x.addLinear(sum)
	})
	return x, err
}

// sumOutLog is sumOutLinear with logarithms.
func (r *run) sumOutLog(l *loop, p *product, message *view) (extent, error) {
	block := r.scratch(0, l.block)
	sum := logSum{top: r.scratch(1, l.block), sum: r.scratch(2, l.block)}
	x := newExtent(true)
	err := r.eachBlock(l, func() {
		sum.reset()
		for own := range l.own {
			if p.log(block, own) {
				sum.add(block)
			}
		}
		sum.store(message.block(0))
		x.addLog(message.block(0))
	})
	return x, err
}
