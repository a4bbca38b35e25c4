package cli

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/describe"
	"github.com/blockbp/blockbp/internal/option"
)

// sampleFlags are the options of sample.
type sampleFlags struct {
	infer.SampleOptions
	networks                        networkFlags
	out, sampler                    string
	json, requireConvergence, quiet bool
	cmd                             *cobra.Command
}

func (a *app) sampleCommand() *cobra.Command {
	var f sampleFlags
	cmd := &cobra.Command{
		Use:   "sample NET.uai|DATA... [-m MODEL] -o OUT [flags]",
		Short: "Draw joint states from a network, or from a model given new data",
		RunE: func(cmd *cobra.Command, args []string) error {
			f.cmd = cmd
			return a.sample(&f, args)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "out", "o", "", "file .npz for one network, or folder to make")
	fl.StringVar(&f.sampler, "sampler", samplerAuto, "auto: exact where it takes about ten seconds at most, else gibbs; "+
		"or exact (independent draws) or gibbs")
	fl.IntVar(&f.Draws, "samples", 1000, "draws of each network, over all chains")
	fl.IntVar(&f.Chains, "chains", 4, "gibbs: chains, from different starts")
	fl.IntVar(&f.BurnIn, "burn-in", 1000, "gibbs: sweeps of each chain that are thrown away")
	fl.IntVar(&f.Thin, "thin", 10, "gibbs: keep one draw in so many sweeps")
	refuseZero(fl, "samples", "chains", "thin")
	fl.Uint64Var(&f.Seed, "seed", 1, "seed of everything drawn")
	threadsVar(fl, &f.Threads, "number of threads; draws do not depend on it")
	// A thousand perfect draws have, of many variables, one above 1.01, or below 400 effective draws, by chance.
	f.MaxRHat, f.MinESS = 1.05, 100
	fl.BoolVar(&f.requireConvergence, "require-convergence", false, "exit with code 5 unless all chains converged")
	a.writes(cmd, byExtension(false, ".npz"))
	forceable(cmd, forceHelp)
	f.networks.register(cmd)
	fl.BoolVar(&f.json, "json", false, "print the result as one JSON object")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	return cmd
}

// samplerAuto is the sampler that fits.
const samplerAuto = "auto"

// gibbsOptions have a meaning for chains only.
var gibbsOptions = []string{"chains", "burn-in", "thin"}

func (f *sampleFlags) validate() error {
	if f.BurnIn < 0 {
		return usagef("{burn-in} %d: want at least 0", f.BurnIn)
	}
	samplers := []string{samplerAuto, string(infer.Gibbs), string(infer.Exact)}
	switch f.sampler {
	case samplerAuto, string(infer.Gibbs):
	case string(infer.Exact):
		if name := firstChanged(f.cmd, gibbsOptions); name != "" {
			return usagef("{%s} is not used by {sampler=exact}, whose draws are independent", name)
		}
	default:
		return usagef("{sampler} %q: want auto, gibbs or exact%s", f.sampler, option.Hint(f.sampler, samplers))
	}
	return nil
}

func (f *sampleFlags) options(n *namedNetwork, progress *counter) infer.SampleOptions {
	o := f.SampleOptions
	o.Evidence, o.Part, o.Memory, o.Progress = n.evidence, uint64(n.number), f.networks.data.Memory, progress.show
	if f.sampler != samplerAuto {
		o.Method = infer.Method(f.sampler)
	}
	o.BurnIn = cmp.Or(o.BurnIn, -1) // 0 stands for the default
	return o
}

func (a *app) sample(f *sampleFlags, args []string) error {
	if err := f.validate(); err != nil {
		return err
	}
	if f.out == "" {
		return usagef("sample: say where the result goes with -o: a file that ends in .npz, or a folder")
	}
	networks, err := f.networks.open(a, f.cmd, args)
	if err != nil {
		return err
	}
	out, err := a.newOutputs(f.out, networks)
	if err != nil {
		return err
	}
	started := time.Now()
	var sampled []*describe.Samples
	for i := range networks.names {
		one, err := a.sampleOne(f, networks.make(i), out(networks.names[i]))
		switch {
		case a.ctx.Err() != nil:
			return &exitError{exitInterrupted, fmt.Errorf("interrupted after %d of %s", i,
				describe.Counted(len(networks.names), "network"))}
		case err != nil:
			return fmt.Errorf("%s: %w", networks.names[i], err)
		}
		sampled = append(sampled, one)
	}
	return a.reportSamples(f, sampled, time.Since(started))
}

// sampleOne draws from one network and writes the draws.
func (a *app) sampleOne(f *sampleFlags, n *namedNetwork, out networkOutput) (*describe.Samples, error) {
	progress := a.newCounter(f.quiet, "sampling "+n.name, "steps")
	defer progress.done()
	drawn, err := infer.Sample(a.ctx, n.network, f.options(n, progress))
	if err != nil {
		return nil, networkError(err, "", samplingNames)
	}
	if name := firstChanged(f.cmd, gibbsOptions); name != "" && drawn.Method == infer.Exact {
		a.note("%s: {%s} is not used: draws are exact and independent ({sampler=gibbs} runs chains all the same)", n.name,
			name)
	}
	if drawn.NotExact != "" {
		a.note("%s: draws are those of Gibbs sampling, as %s", n.name, drawn.NotExact)
	}
	one := describe.NewSamples(n.name, n.network, len(n.evidence), drawn, out.path)
	return one, out.write(func(path string) error {
		return describe.WriteDraws(path, n.network, n.evidence, f.Seed, drawn, n.labels)
	})
}

// samplingNames are the options that infer.Sample calls otherwise.
var samplingNames = map[string]string{"Method": "sampler", "Draws": "samples"}

// reportSamples prints what was drawn, and what is not to be trusted.
func (a *app) reportSamples(f *sampleFlags, sampled []*describe.Samples, elapsed time.Duration) error {
	unsettled, reason := 0, ""
	var texts []string
	for _, one := range sampled {
		if !one.Converged {
			if unsettled++; unsettled == 1 {
				reason = one.Shortfall(f.MaxRHat, f.MinESS)
			}
		}
		texts = append(texts, one.Text())
	}
	err := a.print(f.json, struct {
		Out       string              `json:"out"`
		Seconds   float64             `json:"seconds"`
		Seed      uint64              `json:"seed"`
		Unsettled int                 `json:"not_converged"`
		Networks  []*describe.Samples `json:"networks"`
	}{f.out, elapsed.Seconds(), f.Seed, unsettled, sampled}, "%s", linesOf(texts))
	if err != nil || unsettled == 0 {
		return err
	}
	if len(sampled) > 1 {
		reason = fmt.Sprintf("%d of %d networks: %s", unsettled, len(sampled), reason)
	}
	if f.requireConvergence {
		return &exitError{exitNotConverged, errors.New("not converged: " + reason)}
	}
	a.note("not converged: %s", option.Text(reason))
	return nil
}
