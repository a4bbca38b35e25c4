package learn

import "github.com/blockbp/blockbp/internal/bp"

// executor does the jobs of visits, wherever that is: the loop takes their results in the order
// of the jobs, and gives the same numbers whoever did them.
type executor interface {
	// begin makes the beliefs uniform that are in use here.
	begin()
	// forget lets go of what no visit needs here, when all else has been made.
	forget()
	// visit does n jobs of v, from v.first on, and returns their results, good until the next
	// call, and how they went. Where the tally says that v.until has ended the visit, some have
	// contributed nothing.
	visit(v visit, n int) (results []jobResult, t tally)
	// jobs returns those of n jobs of v that are done here, good until the next call. exchangeRun brings what
	// neighbours see of a run of a sweep over them to where these are, merge makes of the tallies of all
	// processes one, and tellError tells all the error of a job, which is in its result.
	jobs(v *visit, n int) []int32
	exchangeRun(v *visit, n, run int)
	merge(t tally) tally
	tellError(v *visit, job int, s *jobResult)
	// has reports whether what jobs of a part contribute is here; sum sets p.total to the sum of all
	// parts that a visit of the bundle touches, of which p.own are here. sumParts does so where they are
	// those that are owned.
	has(b *bundle, part int32) bool
	sum(b *bundle, p *parts)
	sumParts(p *parts)
	// owns reports whether blocks of a part are visited here. share returns the numbers of all
	// processes, one after another, in dst or as they are; own, which may be its place in dst, are
	// those of this one. So what each makes of its own parts is in the order of the parts.
	owns(part int32) bool
	share(dst, own []float64) []float64
	// pieces calls do for pieces of all messages and beliefs that are in use here: of blocks that are
	// visited here, and what these see of others. Several goroutines do so, and no piece comes twice.
	pieces(do func(u *unit, p piece))
	// gather makes messages and beliefs of all blocks those of the last visits, here. Between visits an
	// executor may have no more of them than visits need.
	gather()
	// save calls write, in process 0 alone, with the state of the run; needs reports whether visits here
	// see something of what a state has of the blocks of a part.
	save(write func(*State) error) error
	needs(part int32) bool
}

// threads is the executor of one process.
type threads struct{ l *learner }

func (e threads) begin() {
	e.l.each(len(e.l.units), func(_, i int) {
		u := e.l.units[i]
		u.state = bp.NewStateIn(u.net, u.state.LogMessage, u.state.LogBelief)
	})
}

func (threads) forget() {}

func (e threads) visit(v visit, n int) (results []jobResult, t tally) {
	e.l.pool.Run(v, n)
	results, t = e.l.results[:n], nothingYet
	t.ended = v.ended()
	for i := range results {
		t.add(i, &results[i])
	}
	return results, t
}

func (e threads) jobs(_ *visit, n int) []int32 { return e.l.atOnce.all[:n] }

func (threads) exchangeRun(*visit, int, int) {}

func (threads) merge(t tally) tally { return t }

func (threads) tellError(*visit, int, *jobResult) {}

func (threads) has(*bundle, int32) bool { return true }

func (threads) sum(_ *bundle, p *parts) { p.tree.Sum(p.total, p.own) }

func (threads) sumParts(p *parts) { p.tree.Sum(p.total, p.own) }

func (threads) owns(int32) bool { return true }

func (threads) share(_, own []float64) []float64 { return own }

// pieceNumbers are as many as goroutines that go through an array take at a time.
const pieceNumbers = 1 << 16

func (e threads) pieces(do func(u *unit, p piece)) {
	e.l.readApart(false)
	defer e.l.readApart(true)
	for _, u := range e.l.units {
		messages, beliefs := u.net.Messages(), u.net.Beliefs()
		first := (messages + pieceNumbers - 1) / pieceNumbers
		e.l.each(first+(beliefs+pieceNumbers-1)/pieceNumbers, func(_, i int) {
			p := piece{stretchOf{i * pieceNumbers, min(pieceNumbers, messages-i*pieceNumbers)}, false}
			if i >= first {
				i -= first
				p = piece{stretchOf{i * pieceNumbers, min(pieceNumbers, beliefs-i*pieceNumbers)}, true}
			}
			do(u, p)
		})
	}
}

// piece is some of a unit's messages, or of its beliefs.
type piece struct {
	stretchOf
	belief bool
}

// of returns the piece of messages or beliefs.
func (p piece) of(messages, beliefs []float64) []float64 {
	if p.belief {
		messages = beliefs
	}
	return messages[p.at:][:p.n]
}

func (threads) gather() {}

func (threads) needs(int32) bool { return true }

func (e threads) save(write func(*State) error) error {
	if !e.l.settings.first() {
		return nil
	}
	state, err := e.l.snapshot()
	if err != nil {
		return err
	}
	return write(state)
}
