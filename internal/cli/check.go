package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/dataset/uai"
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
		Use:     "check DATA|MODEL|NETWORK... [flags]",
		Short:   "Report everything that is wrong with data, models and networks",
		Example: "  blockbp check data/\n  blockbp check images/ --features features/\n  blockbp check run/model.safetensors grid.uai",
		RunE:    func(cmd *cobra.Command, args []string) error { return a.check(&f, args) },
	}
	cmd.Flags().StringVarP(&f.model, "model", "m", "", "check that the data fit this model")
	f.data.register(cmd.Flags())
	cmd.Flags().BoolVar(&f.json, "json", false, "print the result as one JSON object")
	return cmd
}

func (a *app) check(f *checkFlags, args []string) error {
	if len(args) == 0 {
		return usagef("check: name what to check: blockbp check DATA")
	}
	var problems []error
	var data []string
	for _, path := range args {
		switch filepath.Ext(path) {
		case ".safetensors":
			_, err := loadModel(path)
			problems = appendProblem(problems, err)
		case ".uai":
			_, err := uai.ReadFile(path)
			problems = appendProblem(problems, err)
		default:
			data = append(data, path)
		}
	}
	if len(data) > 0 {
		var m *loadedModel
		if f.model != "" {
			var err error
			if m, err = loadModel(f.model); err != nil {
				return err
			}
		}
		for _, err := range dataset.Check(data, f.data.options(m)) {
			problems = append(problems, nameOption(err))
		}
	}
	return a.reportProblems(f, problems)
}

func appendProblem(problems []error, err error) []error {
	if err != nil {
		return append(problems, err)
	}
	return problems
}

func (a *app) reportProblems(f *checkFlags, problems []error) error {
	messages := []string{}
	code := exitDone
	for _, err := range problems {
		messages = append(messages, err.Error())
		// A missing file is worse than a bad one: it says that nothing was checked.
		if c := codeOf(err); code == exitDone || errors.Is(err, os.ErrNotExist) {
			code = c
		}
	}
	if f.json {
		if err := a.printJSON(struct {
			OK       bool     `json:"ok"`
			Problems []string `json:"problems"`
		}{len(problems) == 0, messages}); err != nil {
			return err
		}
	} else if len(problems) == 0 {
		fmt.Fprintln(a.stdout, "no problems found")
	} else {
		fmt.Fprintln(a.stdout, strings.Join(messages, "\n"))
	}
	if len(problems) == 0 {
		return nil
	}
	return &exitError{code, fmt.Errorf("problems found: %d", len(problems))}
}
