package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/describe"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/uai"
	"github.com/blockbp/blockbp/mrf"
)

// convertFlags are the options of convert.
type convertFlags struct {
	networks networkFlags
	out      string
	json     bool
}

func (a *app) convertCommand() *cobra.Command {
	var f convertFlags
	cmd := &cobra.Command{
		Use:   "convert NET.uai|DATA... [-m MODEL] -o OUT [flags]",
		Short: "Write a network, or a model given new data, for other programs",
		Long: `Writes networks with explicit tables: a network in UAI format (or .npz of log
potentials), or, with -m, a model given the features of each instance of a data
set. OUT is a file that ends in .uai or in .npz, for one network, or a folder, which
gets NAME.uai for every instance; - is standard output.

Observed variables (--evidence, --clamp) keep their numbers and states: a factor
that is 0 at the other states is added for each.`,
		Example: "  blockbp convert new/ -m run --instance 3 -o three.uai\n  blockbp convert net.uai --evidence " +
			"net.uai.evid -o given.uai\n  blockbp convert new/ -m run -o networks",
		RunE: func(cmd *cobra.Command, args []string) error { return a.convert(&f, cmd, args) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "out", "o", "", "file .uai or .npz for one network, folder to make, or - for standard output")
	a.writes(cmd, "out", byExtension(true, ".uai", ".npz"))
	forceable(cmd, forceHelp)
	f.networks.register(cmd)
	fl.BoolVar(&f.json, "json", false, "print the result as one JSON object")
	return cmd
}

// convertedNetwork is what convert says of one network.
type convertedNetwork struct {
	Name      string `json:"name"`
	Variables int    `json:"variables"`
	Factors   int    `json:"factors"`
	Held      int    `json:"held"`
	File      string `json:"file"`
}

func (a *app) convert(f *convertFlags, cmd *cobra.Command, args []string) error {
	if err := wantOut("convert", f.out, ".uai", ".npz"); err != nil {
		return err
	}
	if f.out == "-" && f.json {
		return usagef("-o - and {json}: both would go to standard output; name a file")
	}
	networks, err := f.networks.open(a, cmd, args)
	if err != nil {
		return err
	}
	out, err := a.newOutputs(f.out, networks, ".uai", ".npz")
	if err != nil {
		return err
	}
	var converted []*convertedNetwork
	for i := range networks.names {
		if err := a.ctx.Err(); err != nil {
			return err
		}
		one, err := a.convertOne(networks.make(i), out)
		if err != nil {
			return fmt.Errorf("%s: %w", networks.names[i], err)
		}
		converted = append(converted, one)
	}
	if networks.beliefs != "" {
		a.note("networks hold no counting numbers: infer gives the beliefs of predict with %s", option.Text(networks.beliefs))
	}
	if t := networks.temperature; t != 1 {
		a.note("networks hold no temperature: predict raises beliefs to the power 1/%.4g, as its training chose, "+
			"and infer does not", t)
	}
	return a.reportConverted(f, converted)
}

func (a *app) convertOne(n *namedNetwork, out *outputs) (*convertedNetwork, error) {
	given, err := n.network.WithEvidence(n.evidence)
	if err != nil {
		return nil, dataf("%v", err)
	}
	one := &convertedNetwork{n.name, len(given.Card), len(given.Factors), len(n.evidence), out.path(n.name)}
	return one, a.writeNetwork(n.name, out, given)
}

// writeNetwork writes a network in the format that the name of the file tells.
func (a *app) writeNetwork(name string, out *outputs, n *mrf.Network) error {
	path := out.path(name)
	if path != "-" {
		return out.write(name, func(path string) error { return dataset.WriteNetwork(path, n) })
	}
	if err := uai.CheckWrite(n); err != nil {
		return dataf("%v", err)
	}
	return uai.Write(a.stdout, n)
}

func (a *app) reportConverted(f *convertFlags, converted []*convertedNetwork) error {
	var texts []string
	for _, one := range converted {
		if f.out != "-" {
			texts = append(texts, fmt.Sprintf("%s: %s and %s: %s", one.Name, describe.Counted(one.Variables, "variable"),
				describe.Counted(one.Factors, "factor"), one.File))
		}
	}
	return a.print(f.json, struct {
		Out      string              `json:"out"`
		Networks []*convertedNetwork `json:"networks"`
	}{f.out, converted}, "%s", linesOf(texts))
}
