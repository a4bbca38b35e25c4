package exact

import "math"

// eliminate computes all messages from the leaves to the roots. keep holds on to them, and to groups, for the way back.
func (r *run) eliminate(keep bool, compute func(i int) error) error {
	for i := range r.plan.buckets {
		b := &r.plan.buckets[i]
		r.messages[i] = r.take(b.entries)
		if !r.dry {
			if err := r.ctx.Err(); err != nil {
				return err
			}
			if err := compute(i); err != nil {
				return err
			}
		}
		if !keep {
			r.groups[i] = nil
			for _, c := range b.children {
				r.give(&r.messages[c])
			}
		}
	}
	return nil
}

// forward returns log Z, or ErrZero.
func (r *run) forward(keep bool) (logZ float64, err error) {
	for f := range r.plan.network.Factors {
		if factor := &r.plan.network.Factors[f]; len(factor.Scope) == 0 {
			logZ += factor.LogTable[0]
		}
	}
	err = r.eliminate(keep, func(i int) error {
		err := r.computeMessage(i)
		if message := &r.messages[i]; err == nil && r.plan.buckets[i].parent == noParent {
			logZ += message.shift + message.logEntry(0)
		}
		return err
	})
	if err == nil && math.IsInf(logZ, -1) {
		err = ErrZero
	}
	return logZ, err
}

// computeMessage fills r.messages[i]. The error is ErrZero where all of it, and so Z, is zero.
func (r *run) computeMessage(i int) error {
	b := &r.plan.buckets[i]
	for g := range b.groups {
		r.groups[i] = append(r.groups[i], r.plan.buildGroup(&b.groups[g]))
	}
	inputs, scopes := r.inputs(i)
	message := &r.messages[i]
	logarithmic, span := false, 0.0
	for _, t := range inputs {
		if t.zero {
			return ErrZero
		}
		message.shift += t.shift
		logarithmic = logarithmic || t.logarithmic
		span += t.span + math.Ln2 // the largest entry may be as small as 1/2
	}
	sumOut := r.sumOutLinear
	if logarithmic = logarithmic || span > safeSpan; logarithmic {
		sumOut = r.sumOutLog
		for _, t := range inputs {
			t.toLog()
		}
	}
	loop, product := r.multiply(i, inputs, scopes)
	low, high, err := sumOut(loop, product, loop.addView(b, b.scope[1:], message.entries))
	if err != nil {
		return err
	}
	r.ways[i] = way{logarithmic, message.normalize(logarithmic, low, high)}
	message.shift += r.ways[i].logScale
	if message.zero {
		return ErrZero
	}
	return nil
}

// sumOutLinear sums the bucket's own variable out of the product. low and high are those of the sums: see widen.
func (r *run) sumOutLinear(l *loop, p *product, message *view) (low, high float64, err error) {
	block := r.scratch(0, l.block)
	low = math.Inf(1)
	err = r.eachBlock(l, func() {
		sum, empty := message.block(0), true
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
		}
		low, high = widen(low, high, sum, 0)
	})
	return low, high, err
}

// sumOutLog is sumOutLinear with logarithms.
func (r *run) sumOutLog(l *loop, p *product, message *view) (low, high float64, err error) {
	block := r.scratch(0, l.block)
	top, sum := r.scratch(1, l.block), r.scratch(2, l.block) // an entry comes to sum · exp(top)
	low, high = math.Inf(1), math.Inf(-1)
	err = r.eachBlock(l, func() {
		for k := range top {
			top[k], sum[k] = math.Inf(-1), 0
		}
		for own := range l.own {
			if !p.log(block, own) {
				continue
			}
			for k, v := range block {
				if v > top[k] {
					sum[k], top[k] = sum[k]*math.Exp(top[k]-v), v
				}
				if !math.IsInf(v, -1) {
					sum[k] += math.Exp(v - top[k])
				}
			}
		}
		for k, x := range sum {
			message.block(0)[k] = top[k] + math.Log(x) // −Inf where all are
		}
		low, high = widen(low, high, message.block(0), math.Inf(-1))
	})
	return low, high, err
}
