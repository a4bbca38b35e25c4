package learn

import "math/rand/v2"

// blockSet is what is visited at a time: blocks of which no two share an edge, so that they can be
// visited in parallel. Each reads, of others, only what none of them changes.
type blockSet []int

// schedule says what is visited when: a pass of Algorithm 2, with a step after each visit, or a whole pass at the same
// weights, which visits as many blocks at a time as share no edge.
type schedule struct {
	stepPass, wholePass []blockSet
	position            int // in stepPass, of what pick returned last: incremental.takeVisit asks for it
	cyclic              bool
	source              *rand.PCG
	random              *rand.Rand
}

func newSchedule(units *unitSet, s *Settings) schedule {
	source := rand.NewPCG(s.Seed, 0x9e3779b97f4a7c15)
	return schedule{stepPass: units.blockSets(s.Together), wholePass: units.blockSets(units.blocks),
		cyclic: !s.RandomOrder, source: source, random: rand.New(source)}
}

// pick returns what an iteration visits.
func (s *schedule) pick(iteration int) blockSet {
	s.position = iteration % s.perPass()
	if !s.cyclic {
		s.position = s.random.IntN(s.perPass())
	}
	return s.stepPass[s.position]
}

// perPass returns how many iterations count as a pass: they visit everything once, unless the order is random.
func (s *schedule) perPass() int { return len(s.stepPass) }
