package learn

// executor does the jobs of visits, wherever that is: the loop takes their results in the order
// of the jobs, and gives the same numbers whoever did them.
type executor interface {
	// visit does n jobs of v, from v.first on, and returns their results, good until the next
	// call. ended: v.until has ended it, and some have contributed nothing.
	visit(v visit, n int) (results []unitResult, ended bool)
	// has reports whether what jobs of a part contribute is here; sum sets p.total to the sum of all
	// parts that a visit of the bundle touches, of which p.own are here.
	has(b *bundle, part int32) bool
	sum(b *bundle, p *parts)
	// gather makes messages and beliefs of all blocks those of the last visits, here, and, if all
	// is asked for, contributions. Between visits an executor may have no more of them than visits
	// need.
	gather(all bool)
}

// threads is the executor of one process.
type threads struct{ l *learner }

func (t threads) visit(v visit, n int) (results []unitResult, ended bool) {
	t.l.pool.run(v, n)
	return t.l.results[:n], v.ended()
}

func (threads) has(*bundle, int32) bool { return true }

func (threads) sum(_ *bundle, p *parts) { p.tree.Sum(p.total, p.own) }

func (threads) gather(bool) {}
