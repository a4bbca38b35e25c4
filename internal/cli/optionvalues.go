package cli

import (
	"cmp"
	"context"
	_ "embed" // of elsewhere
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/blockbp/blockbp/internal/cut"
	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/learn"
)

// optionValue is the value of an option that pflag has no kind for: what help calls it, what messages want, its text,
// and how that is read.
type optionValue struct {
	kind, wanted string
	text         func() string
	set          func(text string) error
}

// String, Set and Type implement pflag.Value.
func (v optionValue) String() string        { return v.text() }
func (v optionValue) Set(text string) error { return v.set(text) }
func (v optionValue) Type() string          { return v.kind }

// wordValue is one of some words, or any text if there are none.
func wordValue(to *string, kind, wanted string, words ...string) optionValue {
	return optionValue{kind, wanted, func() string { return *to }, func(text string) error {
		if len(words) > 0 && !slices.Contains(words, text) {
			return errors.New("want " + wanted)
		}
		*to = text
		return nil
	}}
}

//go:embed elsewhere.txt
var elsewhereText string

// elsewhere has, by the names of options that other programs have, what there is here.
var elsewhere = func() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(elsewhereText) {
		names, answer, _ := strings.Cut(strings.TrimSpace(line), ": ")
		for _, name := range strings.Fields(names) {
			all[name] = answer
		}
	}
	return all
}()

// joined puts a value behind an option that may have none, or is true without: what follows a blank would be data.
func joined(args []string) (all []string) {
	for _, arg := range args {
		how, last := strings.Split(arg, ":")[0], len(all)-1
		switch {
		case last < 0, slices.Contains(all, "--"):
		case all[last] == "--errors" && slices.Contains([]string{"auto", "bootstrap", "cheap", "none"}, how),
			all[last] == "--select-edges" && slices.Contains([]string{"ebic", "stability"}, how),
			slices.Contains([]string{"true", "false", "yes", "no"}, arg) && strings.HasPrefix(all[last], "--") &&
				!strings.Contains(all[last], "="):
			all[last] += "=" + arg
			continue
		}
		all = append(all, arg)
	}
	return all
}

// numberValue is a number, which is given in decimal (pflag takes 010 for 8), or a time. Where it has to be positive
// its zero stands for "left out", which cannot be asked for: who writes --max-time 0s means no time at all, or no
// limit, and would get the default.
type numberValue struct {
	pflag.Value
	positive bool
}

// Set implements pflag.Value.
func (v numberValue) Set(text string) error {
	if v.Type() != "duration" && !numeric.IsDecimal(text) {
		return errors.New("it is not a decimal number")
	}
	if strings.Contains(v.Type(), "int") {
		sign, digits := "", text
		if strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+") {
			sign, digits = text[:1], text[1:]
		}
		text = sign + cmp.Or(strings.TrimLeft(digits, "0"), digits[:min(len(digits), 1)])
	}
	if err := v.Value.Set(text); err != nil || !v.positive {
		return err
	}
	if is := v.String(); is == "0" || is == "0s" || strings.HasPrefix(is, "-") {
		return errors.New("it is not above 0")
	}
	return nil
}

// refuseZero makes flags refuse zero.
func refuseZero(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		f := flags.Lookup(name)
		if f.Value = (numberValue{f.Value, true}); f.DefValue == "0" || f.DefValue == "0s" {
			f.DefValue = "" // help shows no default then: the text tells it
		}
	}
}

// readDecimal makes all flags of numbers decimal.
func readDecimal(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		switch f.Value.(type) {
		case optionValue, numberValue: // they do so already
			return
		}
		if slices.Contains([]string{"int", "int64", "uint64", "float64"}, f.Value.Type()) {
			f.Value = numberValue{f.Value, false}
		}
	})
}

const (
	countingHelp    = "counting numbers: " + countingChoices
	countingChoices = "convex, cover, trw, near-bethe, or bethe"
)

// decodings are the values of --decode: how beliefs become labels.
var decodings = []string{"marginals", "map"}

// inferenceFlags are the options of predictions that predict and eval share.
type inferenceFlags struct {
	data                   dataFlags
	work                   job.Inference // but for the model and what follows from it
	counting, decode, cost string
	json, quiet            bool
	own                    func(option string) bool // it is given
}

// register makes the options, behind --model, which is each verb's own.
func (f *inferenceFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	f.own = fl.Changed
	readsArguments(cmd, wantsData)
	reads(fl, wantsModel, "model")
	forceable(cmd, forceHelp)
	fl.StringVar(&f.counting, "counting", "", "other counting numbers than in training: "+countingChoices)
	threadsVar(fl, &f.work.Threads, "number of threads")
	fl.Float64Var(&f.work.Settled, "tol", job.PredictTolerance,
		"inference ends where no belief is expected to change by more")
	fl.IntVar(&f.work.Limits.MaxSweeps, "max-sweeps", job.PredictLimits.MaxSweeps, "most sweeps per instance")
	refuseZero(fl, "max-sweeps")
	fl.StringVar(&f.decode, "decode", decodings[0], "labels: marginals (the most likely state of every node) or map (a "+
		"most probable joint state)")
	fl.StringVar(&f.cost, "cost", "", "labels of least expected cost: STATE=COST,... of missing a state (others 1)")
	f.data.register(fl)
	f.data.registerMemory(fl)
	fl.BoolVar(&f.json, "json", false, "print the result as one JSON object")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
}

func (f *inferenceFlags) validate() error {
	switch {
	case !(f.work.Settled > 0 && f.work.Settled < 1):
		return usagef("{tol} %v: want a number between 0 and 1, by which a belief may still change, such as %v",
			f.work.Settled, job.PredictTolerance)
	case !slices.Contains(decodings, f.decode):
		return usagef("{decode} %q: want %s", f.decode, strings.Join(decodings, " or "))
	}
	if f.cost != "" && f.decode != decodings[0] {
		return usagef("{cost} decides node by node: it does not go with {decode} %s", f.decode)
	}
	return f.data.validate()
}

// inference is what is asked for with a model.
func (f *inferenceFlags) inference(ctx context.Context, m *job.Model, progress *counter) (job.Inference, error) {
	w, err := m.Inference(ctx, f.counting)
	if err == nil && f.cost != "" {
		w.Costs, err = job.ParseCosts(f.cost, m.Model.Schema.NodeTypes)
	}
	if f.counting != "" || f.own("tol") || f.own("max-sweeps") {
		w.Truncated = 0
	}
	w.Threads, w.Settled, w.Limits, w.Joint = f.work.Threads, f.work.Settled, f.work.Limits, f.decode == decodings[1]
	w.Limits.Tolerance, w.Memory, w.Progress = job.PredictLimits.Tolerance, f.data.Memory, progress.show
	return w, err
}

// sizeUnits are those of sizeValue, each with its bytes: KiB is 1024, and kB 1000.
var sizeUnits = []struct {
	name  string
	bytes float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}, {"", 1},
}

// parseSize reads an amount of memory: a number of bytes, or a number with a unit such as
// 40GiB or 1.5 GB. Cases don't matter.
func parseSize(text string) (bytes int64, err error) {
	number := strings.TrimRight(text, "kKmMgGtTiIbB")
	unit := text[len(number):]
	bad := errors.New("want " + wantedSize)
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !(x > 0) || strings.ContainsAny(number, "xX_pPnN") {
		return 0, bad
	}
	for _, u := range sizeUnits {
		if strings.EqualFold(u.name, unit) {
			if x *= u.bytes; x < 1 || x >= math.MaxInt64 {
				return 0, bad
			}
			return int64(x), nil
		}
	}
	return 0, bad
}

// sizeValue is a flag for an amount of memory.
func sizeValue(bytes *int64) optionValue {
	return optionValue{"size", wantedSize, func() string {
		if *bytes == 0 {
			return ""
		}
		return strconv.FormatInt(*bytes, 10)
	}, func(text string) (err error) {
		*bytes, err = parseSize(text)
		return err
	}}
}

const wantedSize = "a size above 0, in bytes or with a unit, such as 800MiB or 40GiB"

// partitionFlags say how networks are cut into blocks.
type partitionFlags struct {
	blocks, kind string
}

func (p *partitionFlags) register(f *pflag.FlagSet) {
	f.StringVar(&p.blocks, "blocks", "", "blocks per network: a number, or ROWSxCOLS tiles of a grid (default 1 where "+
		"networks are not large; else 20, 4x5 on grids, or as many as fit the second-level cache)")
	f.StringVar(&p.kind, "partition", "auto", "how to cut: auto, tiles, range (of node numbers), or bfs")
}

func (p *partitionFlags) resolve() (learn.Cut, error) {
	c, err := cut.Parse(p.blocks, p.kind)
	if err != nil {
		name, problem, _ := strings.Cut(err.Error(), " ")
		err = usagef("{%s} %s", name, problem)
	}
	return learn.Cut(c), err
}
