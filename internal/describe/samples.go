package describe

import (
	"fmt"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/internal/uai"
	"github.com/blockbp/blockbp/mrf"
)

// Diagnosis says how Markov chains went. The worst variables are nil where nothing is known of any.
type Diagnosis struct {
	MaxRHat   runfolder.Float `json:"max_rhat"`
	WorstRHat *int            `json:"max_rhat_variable"`
	MinESS    runfolder.Float `json:"min_ess"`
	WorstESS  *int            `json:"min_ess_variable"`
	// Constant counts variables that were in one state in all draws.
	Constant    int  `json:"constant_variables"`
	Irreducible bool `json:"irreducible"`
}

func newDiagnosis(d *infer.Diagnosis) *Diagnosis {
	named := func(v int) *int {
		if v < 0 {
			return nil
		}
		return &v
	}
	return &Diagnosis{runfolder.Float(d.MaxRHat), named(d.WorstRHat), runfolder.Float(d.MinESS), named(d.WorstESS),
		d.Constant, d.Irreducible}
}

// Samples say what was drawn from one network.
type Samples struct {
	Name      string          `json:"name"`
	Variables int             `json:"variables"`
	Held      int             `json:"held"`
	Draws     int             `json:"samples"`
	Sampler   infer.Method    `json:"sampler"`
	Chains    int             `json:"chains"`
	BurnIn    int             `json:"burn_in"`
	Thin      int             `json:"thin"`
	LogZ      runfolder.Float `json:"log_z"`
	Converged bool            `json:"converged"`
	NotExact  string          `json:"not_exact,omitempty"` // why the best method that fits was not exact
	*Diagnosis
	File  string   `json:"file"`
	names []string // of the variables
}

// NewSamples describes draws from a network, some variables of which were held, that are kept in a file.
func NewSamples(name string, n *mrf.Network, held int, drawn *infer.Samples, file string) *Samples {
	s := &Samples{
		Name: name, names: n.Names, Variables: len(n.Card), Held: held, Draws: drawn.Len(), Sampler: drawn.Method,
		Chains: drawn.Chains, BurnIn: drawn.BurnIn, Thin: drawn.Thin,
		LogZ: runfolder.Float(drawn.LogZ), Converged: drawn.Converged, NotExact: drawn.NotExact, File: file,
	}
	if drawn.Diagnosis != nil {
		s.Diagnosis = newDiagnosis(drawn.Diagnosis)
	}
	return s
}

// WriteDraws writes draws from n, in the numbers of the whole network, as a file that numpy.load reads, whole or not at
// all; labels, if not nil, are what data have for states. The same draws give the same bytes.
//
//	samples       [draws, n] int32
//	chain, sweep  [draws] int32     the Markov chain that a draw comes from, and how many sweeps
//	                                that had made; zeros for independent draws
//	log_score     [draws] float64   the logarithm of the unnormalised probability
//	states        [n] int32         the number of states of every variable
//	held          [n] int32         the state at which it was held, −1 for one that was drawn
//	seed          [] uint64
//	rhat, ess     [n] float64       split R̂ and the effective sample size, NaN where they are not
//	                                known; not for independent draws
func WriteDraws(path string, n *mrf.Network, evidence map[int]int, seed uint64, drawn *infer.Samples,
	labels func([]int32) []int32) error {
	var held, cards []int32
	for v, card := range n.Card {
		state, ok := evidence[v]
		if !ok {
			state = crf.Unobserved
		}
		held, cards = append(held, int32(state)), append(cards, int32(card))
	}
	var scores []float64
	x, states := make([]int32, len(n.Card)), make([]int, len(n.Card))
	for i := range drawn.Len() {
		drawn.Draw(x, i)
		for v, state := range x {
			states[v] = int(state)
		}
		scores = append(scores, n.LogScore(states))
	}
	draw := drawn.Draw
	if labels != nil {
		held = labels(held)
		draw = func(x []int32, i int) {
			drawn.Draw(x, i)
			copy(x, labels(x))
		}
	}
	arrays := []npy.Array{
		npy.RowsOf("samples", draw, len(scores), len(held)), npy.ArrayOf("chain", drawn.Chain, len(scores)),
		npy.ArrayOf("sweep", drawn.Sweep, len(scores)), npy.ArrayOf("log_score", scores, len(scores)),
		npy.ArrayOf("states", cards, len(held)), npy.ArrayOf("held", held, len(held)), npy.ArrayOf("seed", []uint64{seed}),
	}
	if d := drawn.Diagnosis; d != nil {
		arrays = append(arrays, npy.ArrayOf("rhat", d.RHat, len(held)), npy.ArrayOf("ess", d.ESS, len(held)))
	}
	return npy.WriteArchive(path, arrays...)
}

// Shortfall says why draws did not converge; nothing where they did.
func (s *Samples) Shortfall(maxRHat, minESS float64) string {
	d, name := s.Diagnosis, option.Literal(s.Name)
	switch {
	case s.Converged:
		return ""
	case !d.Irreducible:
		return fmt.Sprintf("%s: hard zeros may keep Gibbs sampling from reaching all possible states: it is not proved "+
			"that it is ergodic", name)
	case d.WorstRHat == nil:
		return fmt.Sprintf("%s: %d draws of %d chains are too few to judge; want more {samples}", name, s.Draws, s.Chains)
	case !(float64(d.MaxRHat) <= maxRHat):
		return fmt.Sprintf("%s: R-hat of variable %s is %.4g, want at most %g: raise {samples}, {burn-in} or {thin}",
			name, option.Literal(uai.Named(s.names, *d.WorstRHat)), float64(d.MaxRHat), maxRHat)
	}
	return fmt.Sprintf("%s: variable %s has %.0f effective draws, want at least %g: raise {samples} or {thin}",
		name, option.Literal(uai.Named(s.names, *d.WorstESS)), float64(d.MinESS), minESS)
}

// Text is a line for people.
func (s *Samples) Text() string {
	what := fmt.Sprintf("%s: %s of %s", s.Name, Counted(s.Draws, "draw"), Counted(s.Variables, "variable"))
	if s.Held > 0 {
		what += fmt.Sprintf(" (%d held)", s.Held)
	}
	if s.Diagnosis == nil {
		return fmt.Sprintf("%s, exact and independent; log Z %.10g: %s", what, float64(s.LogZ), s.File)
	}
	what += fmt.Sprintf(" by Gibbs sampling in %s", Counted(s.Chains, "chain"))
	if s.WorstRHat != nil {
		what += fmt.Sprintf("; worst R-hat %.4g (variable %s), fewest effective draws %.0f (variable %s)",
			float64(s.MaxRHat), uai.Named(s.names, *s.WorstRHat), float64(s.MinESS), uai.Named(s.names, *s.WorstESS))
	}
	return what + ": " + s.File
}
