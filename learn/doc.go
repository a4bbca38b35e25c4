// Package learn fits the weights of a pairwise model by full belief propagation, inner-dual learning or block belief
// propagation learning (BBPL; Lu, Liu and Huang, AAAI 2019): three settings of one loop.
//
// # The loop (docs/explanation/equations.md, section 6), with the lines of the paper's Algorithm 2
//
//	1     cut the network into blocks F_1, …, F_D
//	2     while θ has not converged:
//	3         select a block F_i = (V_i, E_i), or several that share no edge (Settings.Together)
//	              ground its potentials from θ
//	4–7       sweep over it until its messages, into it and out of it, have converged, or k times
//	8         replace its contribution to the gradient in place   (9)
//	9         θ ← θ − α g
//
//	method       blocks   inner sweeps, of iterations with a step at each visit
//	full         1        to convergence, or at most 300
//	inner-dual   1        1
//	bbpl         D        at most k, 2 unless Settings.InnerSweeps says otherwise; 300 is the paper's "to convergence"
//	auto         1 or D   as bbpl. This is the default: Settings.Choose looks at sizes, and decides whether to cut
//	exact, …     none     all that are Method.Local: L-BFGS, in local.go, without checks and messages that are kept
//
// The gradient g is a sum of contributions, one per block, of its nodes and the edges inside it, and of beliefs that
// each cut edge keeps. Updating block i replaces its own, and those of its cut edges. So an iteration costs what its
// block costs, whatever the size of the network, apart from the step, which goes over all weights.
//
// With the rules fixed and adagrad of ParseStep a run is this loop, and full and inner-dual are those of the paper. By
// automatic steps, the default, only the first passes are, with θ ← θ̄ − P⁻¹ḡ as line 9 (incremental.go). Then whole
// passes visit all blocks at the same weights, in 3 sweeps by any method (2 on forests), and a step of all weights is
// accepted where F, an upper bound of the objective, has fallen (docs/explanation/equations.md, section 8). Where F is
// no bound all of a run is such descent.
//
// # An iteration, function by function
//
// Numbers of equations, such as (8), are those of docs/explanation/equations.md, not of the paper.
//
//	run               fit.go          the loop; each turn of it is iterate, or visitInWholePass
//	iterate           fit.go          Algorithm 2: schedule.pick selects blocks, StepRule.Step (step.go) moves weights
//	visit             inference.go    deals the block, in all networks, to processes (ranks.go) and threads
//	visitUnit         worker.go       grounds it, sweeps over it, and finds what it contributes, by its beliefs (6)
//	Iterate           internal/bp     makes sweeps, each of which renews messages by (5) and beliefs of nodes by (4)
//	takeResult        inference.go    replaces its contribution, and adds what changes to the sum of its part
//	addParts          inference.go    adds these sums to the totals, of which aggregate.estimate makes the gradient
//	takeVisit         incremental.go  renews θ̄ and ḡ of the first automatic steps, which are auto.Step (auto.go)
//	visitInWholePass  pass.go         visits at held weights; after the last one endWholePass finds the gradient and F
//	descend           pass.go         accepts or refuses a step, by acceptOrShrink (descent.go), and takes the next one
//	startCheck        check.go        begins a check; decide (claims.go) says after each pass whether it has told enough
//	claimOrGoOn       check.go        convergence is claimed, where whyNotConverged (claims.go) finds nothing missing
//	startFinalCheck   limits.go       limits or small promises end the run: endRun says what its last weights are worth
//	checkpoint        state.go        saves the state: eachOfPart (savedparts.go) goes through what visits change
//	restore           state.go        reads it; goOn decides what a run does next that had ended
//
// A learner, its messages, its claims and its diagnosis embed one inference, which makes visits, and so its unitSet
// (units, blocks) and trainingRun (problem, settings, model, progress). Such parts are reached without a name.
//
// # Words
//
//	unit           one inference. An instance has one with its labels free and, for each sample that hides some, another
//	               with the known ones clamped, which counts with a minus in (8). buildUnits makes them (unit.go).
//	block          F_i of the paper, with the same number in all units, which are visited together. cutInstance cuts.
//	cut edge       joins two blocks, and keeps its belief of the last visit of either (unit.cutBeliefs).
//	job            the visit of a block in some of the units, by one thread. divideUnits says in which (unitset.go).
//	part           one of the 64 shares into which all jobs are divided; one process does those of a part. What a visit
//	               changes is added up part by part (parts.go). crf.Span.Part is something else: a place among weights.
//	contribution   Σ M τ of a block at its last visit, with its terms of F and of Σ c H(τ) (contribution.go).
//	sweep          sends the messages of all edges of a block, or of the network, once.
//	visit          makes sweeps over a block, or several that share no edge, and renews what they contribute.
//	pass           visits of every block, or as many in RandomOrder. In a whole pass weights are held.
//	               What options, results and events count as passes are sweeps of the whole network (progress.Sweeps).
//	check          whole passes that decide whether the run has converged, or what its last weights are worth.
//	claim          that it has: claimOrGoOn makes it after a check, or where descend finds a proof, which needs none. A
//	               suboptimality is proved; how far messages still change the gradient is extrapolated (decide).
//	state          all that a run needs to go on to the same bytes as if it had never stopped: weights, progress,
//	               messages, contributions, StepRule.State. bp.State is messages and beliefs; x_s is a state of node s.
//	promise        by how much a step should lower F. After three small ones in a row, where nothing else can be proved,
//	               endRun claims a stationary point.
//	residual       the largest change of a log-message or log-belief in a sweep. While it is above the constant lagging,
//	               messages are said to lag behind the weights. The flag descent.lags is another sign of that: a step
//	               was refused.
//	F              the objective L of (8) with the dual value D of (7) in the place of B: as D ≥ B at any messages, F ≥ L
//	               (bound.go; findGuarantees knows where that holds). upperBound computes F at the end of a whole pass,
//	               progress.Upper keeps it, and descent calls it value. F_i, with an index, is a block.
//	gap            F less the value of consistent beliefs: what messages lack (passState.Gap, by endWholePass).
//	suboptimality  progress.Upper less progress.Lower (raiseLowerBound): what weights and messages lack together.
//	               Settings.Gap is a limit on this one, not on the gap.
//	consistent     beliefs are those in which edges agree with nodes: feasible in (2), they bound L from below.
//	split          a form of convex counting numbers of which some are negative (counting.Numbers.Split). What it adds
//	               to F is found in visits of another kind (splitVisit), or at once where a block is a whole network.
//	origin         the weights that were accepted last. Those to be judged are origin − alpha·direction (descent.go).
//	damping        the weight of old messages in a sweep: messages that circle are damped, from pass to pass by
//	               messages.damp, and within a visit of many sweeps by Iterate.
//	prox           a proximal term, holds beliefs near the last ones in sweeps that would overshoot (bp/prox.go).
package learn
