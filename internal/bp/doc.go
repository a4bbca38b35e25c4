// Package bp is convex belief propagation on one block of a pairwise network: counting numbers, messages, beliefs, and
// the values that certify them (docs/explanation/equations.md, sections 2 to 4).
//
// # Numbers that persist and numbers that do not
//
// A State keeps, per network, the log-messages λ_uv/ρ_uv and the log-beliefs log τ_u. A Workspace keeps the potentials
// of one block: Ground computes them and exponentiates the edge tables (Prepare does the latter alone), any number of
// sweeps uses them (Iterate, which makes a Sweep, which calls updateRun), and the next block overwrites them.
//
// # Form of the messages
//
// With m = λ/ρ and the table E = exp(θ_uv/ρ_uv − shift), the update
//
//	(5)  λ_uv(x_v) = ρ_uv log Σ_{x_u} τ_u(x_u) exp{(θ_uv(x_u,x_v) − λ_vu(x_u))/ρ_uv}
//
// is a small vector-matrix product between k exponentials and k logarithms, instead of k² exponentials. A table whose
// entries span more than exp can hold is kept as logarithms, and a sum that comes out too small to be trusted is done
// again with logarithms, so that hard zeros and potentials of ±1e4 give the same answers.
package bp
