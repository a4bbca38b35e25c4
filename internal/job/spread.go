package job

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/local"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/learn"
)

// The values of Options.Errors, beside bootstrap:B.
const (
	errorsNone      = "none"
	errorsAuto      = "auto"
	errorsCheap     = "cheap"
	errorsBootstrap = "bootstrap"
)

const (
	// defaultReplicates makes an error uncertain by 7 %, 1/√(2B).
	defaultReplicates = 100
	// replicateTolerance is the norm of the gradient at which a replicate ends, relative to
	// where it begins, at the weights of all samples: what is left is that share of its way.
	replicateTolerance = 1e-3
	// correlationTold is the correlation of neighbouring samples that is told of: errors are too small by a tenth.
	correlationTold = 0.1
	// cheapWork takes a few seconds on one core of 2026.
	cheapWork = 1e10
	// cheapEntries of joint tables do, too.
	cheapEntries = 3e8
	// mostInMinutes are parameters whose covariance is found in a few minutes: of more it is refused.
	mostInMinutes = 4096
)

// bootstrap reads Options.Errors, of options with their defaults.
func (o *Options) bootstrap() (replicates int, asked bool, err error) {
	name, number, given := strings.Cut(o.Errors, ":")
	switch {
	case o.Errors == errorsNone || o.Errors == errorsAuto || o.Errors == errorsCheap:
		return 0, false, nil
	case name != errorsBootstrap:
		return 0, false, usagef("{errors} %q: want auto, cheap, bootstrap, bootstrap:B with a number of replicates, or none",
			o.Errors)
	case !given:
		return defaultReplicates, true, nil
	}
	if replicates, err = strconv.Atoi(number); err != nil || replicates < 2 {
		return 0, false, usagef("{errors} %q: want a number of replicates, 2 or more, such as bootstrap:%d", o.Errors,
			defaultReplicates)
	}
	return replicates, true, nil
}

// spread finds standard errors, and couplings of physical systems with theirs, and writes
// them into the folder. Errors that there are none of are a note.
func (r *run) spread(ctx context.Context, result *Result) error {
	p, m := r.p, result.Model.Model
	if p.Options.Errors == errorsNone && p.Options.Physics == "" {
		return nil
	}
	found, notes, err := p.covariance(ctx, m, r.watch.counter("standard errors"))
	switch {
	case p.Options.Errors == errorsNone:
	case ctx.Err() != nil:
		advice := ""
		if r.folder != nil && !r.folder.NoCheckpoint {
			advice = "; resume the run to make up for them"
		}
		notes = append(notes, "no standard errors: interrupted"+advice)
	case err != nil:
		advice := ""
		if (p.Options.Errors == errorsAuto || p.Options.Errors == errorsCheap) && len(samplesOf(p.Problem.Data)) > 1 {
			advice = "; {errors=bootstrap} learns again from resampled samples, with any method"
		}
		notes = append(notes, fmt.Sprintf("no standard errors: %v%s", err, advice))
	default:
		result.Errors = deviations(found, len(m.Weights),
			func(dst, weights []float64) { p.scale.Original(dst, weights, &m.Layout) })
	}
	p.tell(r.watch, notes...)
	if p.Options.Physics != "" {
		if result.Errors == nil {
			found = nil
		}
		result.Couplings = p.couplings(m, found)
	}
	return r.saveErrors(result)
}

// saveErrors writes what spread has found.
func (r *run) saveErrors(result *Result) error {
	if r.folder == nil {
		return nil
	}
	if m := result.Model.Model; result.Errors != nil {
		errors := &crf.Model{Schema: m.Schema, Layout: m.Layout, Weights: result.Errors}
		meta := map[string]string{MetaErrors: r.p.Options.Errors, MetaErrorsOf: HashWeights(m.Weights)}
		if err := r.files.Via(ErrorsFile, func(path string) error { return crf.Save(path, errors, meta) }); err != nil {
			return err
		}
	}
	if c := result.Couplings; c != nil {
		return r.files.WriteFile(CouplingsFile, c.write)
	}
	return nil
}

// Keys of the metadata of a file of standard errors.
const (
	MetaErrors   = "errors"         // how they were found
	MetaErrorsOf = "weights_sha256" // of the weights that they are of
)

// covariance is that of the weights with features on one scale, as they were learned.
func (p *Prepared) covariance(ctx context.Context, m *crf.Model, progress func(done, total int)) (found columns,
	notes []string, err error) {
	problem, settings := p.Problem, p.Settings
	problem.Model = m.Clone()
	p.scale.Standard(problem.Model.Weights, m.Weights, &m.Layout)
	replicates, bootstrap, err := p.Options.bootstrap()
	switch {
	case p.Options.Errors == errorsNone || err != nil:
		return nil, nil, err
	case bootstrap:
		return p.replicate(ctx, problem, replicates, progress)
	case p.Options.Errors == errorsCheap && !p.cheapErrors() &&
		parameters(&m.Layout) <= mostInMinutes: // more are refused at once, with the reason
		return nil, nil, fmt.Errorf("those of %d weights take longer than a few seconds; {errors=auto} finds "+
			"them all the same", problem.Model.Layout.Size)
	}
	x, err := local.NewCovariance(ctx, &local.Objective{
		Kind: local.Kind(settings.Method), Model: problem.Model, Data: problem.Data, ClassWeights: problem.ClassWeights,
		L2: problem.L2, Total: instances.TotalWeight(problem.Data),
	}, max(1, settings.Threads), settings.Memory, progress)
	if err != nil {
		return nil, nil, err
	}
	if rho := x.Correlation; rho > correlationTold {
		notes = append(notes, fmt.Sprintf("samples are correlated with the one before (%.2f), and standard errors are too "+
			"small by a factor of about %.2g: {errors=bootstrap} resamples blocks of them", rho,
			math.Sqrt((1+rho)/(1-min(rho, 0.99)))))
	}
	return x.Each, notes, nil
}

// parameters counts weights, those of both ways round of symmetric edges once.
func parameters(layout *crf.Layout) (n int) {
	for _, span := range slices.Concat(layout.Node, layout.Edge) {
		if n += span.Len; span.Ends > 0 {
			n -= span.Len / span.States * span.Ends * (span.Ends - 1) / 2
		}
	}
	return n
}

// cheapErrors reports whether standard errors take seconds: by the likelihood those of two gradients a parameter.
func (p *Prepared) cheapErrors() bool {
	switch p.Options.Method {
	case learn.Exact:
		return 2*float64(parameters(&p.Problem.Model.Layout))*local.Work(p.Problem.Data, cheapEntries) <= cheapEntries
	case learn.Pseudo:
		n := float64(p.Problem.Model.Layout.Size) // two factors of matrices, one divides the other, and a sum over samples
		return n*n*(5./3*n+float64(len(samplesOf(p.Problem.Data)))) <= cheapWork
	}
	return true
}

// replicate learns from data resampled by blocks of samples that follow each other (Künsch
// 1989), round and round (Politis and Romano 1992), each from the weights of all. Of N samples a block has ∛N, the
// length with which variances of sums along a chain are found best as N grows.
func (p *Prepared) replicate(ctx context.Context, problem learn.Problem, n int,
	progress func(done, total int)) (found columns, notes []string, err error) {
	units := samplesOf(problem.Data)
	if len(units) < 2 {
		return nil, nil, fmt.Errorf("there is one sample alone, and nothing to resample")
	}
	block, settings := int(math.Ceil(math.Cbrt(float64(len(units))))), p.Settings
	settings.Threads = 1
	settings.GradientTolerance, settings.RelativeTolerance = 0, replicateTolerance
	settings.Proof, settings.ErrorShare = 0, 0
	progress(0, n)
	var counting sync.Mutex
	all, failed, done := make([][]float64, n), make([]error, n), 0
	err = parallel.Each(ctx, n, p.Options.Threads, func(i int) {
		sub, own := problem, settings
		sub.Data = resample(units, block, rand.New(rand.NewPCG(p.Options.Seed, uint64(i))))
		if own.Step, failed[i] = learn.ParseStep(p.Options.Step); failed[i] != nil { // a rule has the state of one run
			return
		}
		fitted, err := learn.Fit(ctx, sub, own)
		if failed[i] = err; err == nil {
			all[i] = fitted.Model.Weights
		}
		counting.Lock()
		defer counting.Unlock()
		done++
		progress(done, n)
	})
	if err = cmp.Or(slices.Concat([]error{err, ctx.Err()}, failed)...); err != nil {
		return nil, nil, err
	}
	mean := make([]float64, len(problem.Model.Weights))
	for _, w := range all {
		for i, x := range w {
			mean[i] += x / float64(n)
		}
	}
	for _, w := range all {
		for i := range w {
			w[i] = (w[i] - mean[i]) / math.Sqrt(float64(n-1))
		}
	}
	notes = append(notes, fmt.Sprintf("standard errors are of blocks of %d samples, as each may be correlated with "+
		"the one before", block))
	return func(do func(c []float64)) {
		for _, w := range all { // the sum of their squares is a variance
			do(w)
		}
	}, notes, nil
}

// sample is one of an instance.
type sample struct {
	in     *crf.Instance
	labels []int32
	weight float64
}

// samplesOf lists what is resampled.
func samplesOf(data []*crf.Instance) (units []sample) {
	for _, in := range data {
		for i, labels := range in.Samples() {
			units = append(units, sample{in, labels, in.SampleWeight(i)})
		}
	}
	return units
}

// resample draws as many samples, in blocks.
func resample(units []sample, block int, rng *rand.Rand) []*crf.Instance {
	var drawn []sample
	for len(drawn) < len(units) {
		first := rng.IntN(len(units))
		for i := 0; i < block && len(drawn) < len(units); i++ {
			drawn = append(drawn, units[(first+i)%len(units)])
		}
	}
	return instancesOf(drawn)
}

// instancesOf are those that some samples are of, without others.
func instancesOf(drawn []sample) []*crf.Instance {
	labels, weights := map[*crf.Instance][][]int32{}, map[*crf.Instance][]float64{}
	var order []*crf.Instance
	for _, u := range drawn {
		if labels[u.in] == nil {
			order = append(order, u.in)
		}
		labels[u.in], weights[u.in] = append(labels[u.in], u.labels), append(weights[u.in], u.weight)
	}
	return numeric.Map(order, func(in *crf.Instance) *crf.Instance { return relabelled(in, labels[in], weights[in]) })
}
