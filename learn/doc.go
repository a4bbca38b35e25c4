// Package learn fits the weights of a pairwise model by full belief propagation, inner-dual learning or block belief
// propagation learning (BBPL; Lu, Liu and Huang, AAAI 2019): three settings of one loop.
//
// # The loop (the paper's Algorithm 2; docs/explanation/equations.md, section 6)
//
//	while θ has not converged:
//	    select a block F_i = (V_i, E_i)
//	    ground its potentials from θ
//	    sweep over it until its messages, into it and out of it, have converged, or k times
//	    replace its contribution to the gradient in place   (9)
//	    θ ← θ − α g
//
//	method       blocks   inner sweeps, of iterations with a step at each visit
//	full         1        to convergence, or at most 300
//	inner-dual   1        1
//	bbpl         D        at most k, 2 unless Settings.InnerSweeps says otherwise; 300 is the paper's "to convergence"
//
// The gradient g is a sum of contributions, one per block, of its nodes and the edges inside it, and of beliefs that
// each cut edge keeps. Updating block i replaces its own, and those of its cut edges. So an iteration costs what its
// block costs, whatever the size of the network, apart from the step, which goes over all weights.
//
// That is the loop of steps with a fixed rule (fixed and adagrad of ParseStep), and of the first passes of the
// automatic one, where F bounds the objective. Then automatic steps descend on the upper bound F of the objective
// (docs/explanation/equations.md, section 8): weights move after whole passes, in which every block is visited at the
// same weights, and a step is accepted where F has fallen.
//
// Instances are worked on together: an iteration updates the same block of every instance.
//
// # Where to find it
//
// Numbers of equations, such as (8), are those of docs/explanation/equations.md, not of the paper.
//
//	iterate         fit.go         the loop, and one iteration of Algorithm 2
//	schedule        schedule.go    selects the block
//	visit           inference.go   deals it, in all networks, to threads (worker) and processes (ranks)
//	worker          worker.go      grounds it, sweeps over it by internal/bp, and finds its contribution
//	aggregate       aggregate.go   the gradient: takeResult (inference.go) replaces a contribution to it
//	step            fit.go         moves the weights by a StepRule (step.go); auto.go is the default one
//	visitInPass     pass.go        a whole pass at held weights, for checks and descent
//	acceptOrShrink  descent.go     accepts or refuses a step of descent
//	messages        messages.go    goes back to messages, on from them with momentum, and damps them
//	decide          claims.go      ends a check (check.go); whyNotConverged says whether convergence is claimed
//
// These types stand on each other. A trainingRun says what a run is of and how far it is. An inference has networks and
// beliefs as well. Each of messages, claims and diagnosis (trouble.go) works on an inference, and a learner has all.
//
// A *sweep* sends the messages of all edges of a block, or of the network, once. A *visit* makes sweeps over one block.
// A *pass* of visits comes to every block once; in a *whole pass* weights are held meanwhile. A *check* is whole passes
// that decide a claim. What options, results and events count as passes are sweeps of the whole network, those of
// checks alike; Result.GradientPasses are gradients of it.
//
// # Baselines
//
// Methods Exact, Composite, Pseudo and Piecewise are minimised by L-BFGS, without messages and checks: the likelihood
// itself, or sums of terms that normalise over some of the variables only. So is Truncated, the loss of beliefs after
// a few sweeps, with the gradient through these: it needs no optimum of messages, and is not convex.
package learn
