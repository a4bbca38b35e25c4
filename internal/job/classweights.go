package job

import (
	"maps"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/infile"
	"github.com/blockbp/blockbp/internal/nearest"
	"github.com/blockbp/blockbp/internal/numeric"
)

// classWeights reads Options.ClassWeights as learn.Problem wants them, [node
// type][state].
func classWeights(o *Options, types []crf.NodeType, data []*crf.Instance) ([][]float64, error) {
	spec := o.ClassWeights
	switch spec {
	case "":
		return nil, nil
	case "balanced":
		return balancedWeights(types, data), nil
	}
	weights := make([][]float64, len(types))
	for a := range types {
		weights[a] = slices.Repeat([]float64{1}, len(types[a].States))
	}
	given, err := parseClassWeights(spec)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		found := false
		for a := range types {
			if i := slices.Index(types[a].States, name); i >= 0 {
				weights[a][i], found = given[name], true
			}
		}
		if !found {
			return nil, usagef("{class-weights} %q: there is no state %q; %s", spec, name,
				nearest.Suggestion(name, statesOf(types), ""))
		}
	}
	return weights, nil
}

// parseClassWeights reads STATE=WEIGHT,… or, of names that have commas in them, a JSON object.
func parseClassWeights(spec string) (map[string]float64, error) {
	given := map[string]float64{}
	if strings.HasPrefix(spec, "{") {
		if err := infile.JSON([]byte(spec), &given); err != nil {
			return nil, usagef("{class-weights} %q: %v", spec, err)
		}
		for name, weight := range given {
			if !(weight > 0) {
				return nil, usagef("{class-weights} %q: the weight of %q is %v, want a positive number", spec, name, weight)
			}
		}
		return given, nil
	}
	for part := range strings.SplitSeq(spec, ",") {
		name, text, ok := strings.Cut(part, "=")
		weight, err := numeric.ParseDecimal(text)
		if !ok || err != nil || !(weight > 0) {
			return nil, usagef("{class-weights} %q: want balanced, or STATE=WEIGHT,… with positive weights, not %q", spec, part)
		}
		if _, twice := given[name]; twice {
			return nil, usagef("{class-weights} %q: state %q has two weights, want one", spec, name)
		}
		given[name] = weight
	}
	return given, nil
}

// statesOf names the states of all types, each once.
func statesOf(types []crf.NodeType) (names []string) {
	for _, t := range types {
		for _, state := range t.States {
			if !slices.Contains(names, state) {
				names = append(names, state)
			}
		}
	}
	return names
}

// balancedWeights returns n/(K n_c): every state that occurs has the same weight in
// all, and the mean over the labels is one. States without labels get 1.
func balancedWeights(types []crf.NodeType, data []*crf.Instance) [][]float64 {
	weights := make([][]float64, len(types))
	for a := range types {
		weights[a] = make([]float64, len(types[a].States))
	}
	for _, in := range data {
		for _, labels := range in.Samples() {
			for s, y := range labels {
				if y != crf.Unobserved {
					weights[in.NodeType(int32(s))][y]++
				}
			}
		}
	}
	for _, counts := range weights {
		total, occurring := 0.0, 0.0
		for _, n := range counts {
			total += n
			if n > 0 {
				occurring++
			}
		}
		for i, n := range counts {
			counts[i] = 1
			if n > 0 {
				counts[i] = total / (occurring * n)
			}
		}
	}
	return weights
}
