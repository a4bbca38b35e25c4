package learn

// executor does the jobs of visits, wherever that is: the loop takes their results in the order
// of the jobs, and gives the same numbers whoever did them.
type executor interface {
	// visit does n jobs of v, from v.first on, and returns their results, good until the next
	// call, and how they went. Where the tally says that v.until has ended the visit, some have
	// contributed nothing.
	visit(v visit, n int) (results []unitResult, t tally)
	// has reports whether what jobs of a part contribute is here; sum sets p.total to the sum of all
	// parts that a visit of the bundle touches, of which p.own are here.
	has(b *bundle, part int32) bool
	sum(b *bundle, p *parts)
	// owns reports whether blocks of a part are visited here. share returns the numbers of all
	// processes, one after another, in dst or as they are; own, which may be its place in dst, are
	// those of this one. So what each makes of its own parts is in the order of the parts.
	owns(part int32) bool
	share(dst, own []float64) []float64
	// gather makes messages and beliefs of all blocks those of the last visits, here, and, if all
	// is asked for, contributions. Between visits an executor may have no more of them than visits
	// need.
	gather(all bool)
}

// threads is the executor of one process.
type threads struct{ l *learner }

func (e threads) visit(v visit, n int) (results []unitResult, t tally) {
	e.l.pool.run(v, n)
	results, t = e.l.results[:n], tally{converged: true, failed: -1, ended: v.ended()}
	for i := range results {
		block, u := v.job(v.first + i)
		t.add(i, &results[i], &u.part.Blocks[block])
	}
	return results, t
}

func (threads) has(*bundle, int32) bool { return true }

func (threads) sum(_ *bundle, p *parts) { p.tree.Sum(p.total, p.own) }

func (threads) owns(int32) bool { return true }

func (threads) share(_, own []float64) []float64 { return own }

func (threads) gather(bool) {}
