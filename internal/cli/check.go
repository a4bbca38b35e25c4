package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/formats"
	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
)

// checkFlags are the options of check.
type checkFlags struct {
	data  dataFlags
	model string
	json  bool
}

func (a *app) checkCommand() *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check DATA|MODEL|NETWORK... [flags]",
		Short: "Report everything that is wrong with data, models and networks",
		Example: "  blockbp check data/\n  blockbp check images/ --features features/\n  blockbp check " +
			"run/model.safetensors grid.uai",
		RunE: func(cmd *cobra.Command, args []string) error { return a.check(&f, args) },
	}
	readsArguments(cmd, "data, a model or a network")
	cmd.Flags().StringVarP(&f.model, "model", "m", "", "check that the data fit this model")
	reads(cmd.Flags(), wantsModel, "model")
	f.data.register(cmd.Flags())
	f.data.registerMemory(cmd.Flags())
	cmd.Flags().BoolVar(&f.json, "json", false, "print the result as one JSON object")
	return cmd
}

func (a *app) check(f *checkFlags, args []string) error {
	if len(args) == 0 {
		return usagef("check: name what to check: blockbp check DATA")
	}
	if err := f.data.validate(); err != nil {
		return err
	}
	var problems []error
	var data, notes []string
	for _, path := range args {
		if err := a.ctx.Err(); err != nil {
			return err
		}
		switch {
		case filepath.Ext(path) == ".safetensors":
			if m, err := job.LoadModel(path); err != nil {
				problems = append(problems, err)
			} else {
				notes = append(notes, m.Notes...)
			}
		case formats.IsNetwork(path):
			if _, err := dataset.ReadNetwork(path, f.data.Memory); err != nil {
				problems = append(problems, err)
			}
		default:
			data = append(data, path)
		}
	}
	if len(data) > 0 {
		var m *job.Model
		if f.model != "" {
			var err error
			if m, err = a.loadModel(f.model); err != nil {
				return err
			}
		}
		set, list := dataset.Check(a.ctx, data, f.data.options(m))
		if err := a.ctx.Err(); err != nil {
			return err
		}
		if set != nil {
			a.sets = append(a.sets, set)
			notes = append(notes, set.Notes()...)
		}
		if set != nil && m == nil {
			if err := job.CheckTraining(a.ctx, set, f.data.Memory); err != nil {
				list = append(list, err)
			}
		}
		problems = append(problems, numeric.Map(list, notTraining)...)
	}
	return a.reportProblems(f, problems, notes)
}

// checked is what check says.
type checked struct {
	OK       bool     `json:"ok"`
	Problems []string `json:"problems"`
	// Notes say what was assumed, or left out, where nothing is wrong.
	Notes option.Notes `json:"notes"`
}

func (a *app) reportProblems(f *checkFlags, problems []error, notes []string) error {
	result := checked{OK: len(problems) == 0, Problems: []string{}, Notes: append(option.Notes{}, notes...)}
	code := exitDone
	problems = numeric.Map(problems, withMemoryRemedy)
	for _, err := range problems {
		result.Problems = append(result.Problems, option.Command(option.References(err)))
		// A missing file is worse than a bad one: it says that nothing was checked.
		if c := codeOf(err); code == exitDone || errors.Is(err, os.ErrNotExist) {
			code = c
		}
	}
	if !f.json {
		a.noteAll(notes)
	}
	text := linesOf(result.Problems)
	if result.OK {
		text = "no problems found\n"
	}
	if err := a.print(f.json, result, "%s", text); err != nil || result.OK {
		return err
	}
	if a.events != nil { // which a program need not find in the results
		return &exitError{code, errors.Join(problems...)}
	}
	return &exitError{code, fmt.Errorf("problems found: %d", len(problems))}
}
