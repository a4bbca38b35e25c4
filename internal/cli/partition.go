package cli

import (
	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/internal/describe"
	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/parted"
)

// partitionVerbFlags are the options of partition.
type partitionVerbFlags struct {
	data    dataFlags
	cut     partitionFlags
	options job.Options
	out     string
	parts   int
	json    bool
}

func (a *app) partitionCommand() *cobra.Command {
	var f partitionVerbFlags
	cmd := &cobra.Command{
		Use:   "partition DATA -o DIR [flags]",
		Short: "Cut a large network into parts that processes open alone",
		Long: `Writes a network of npz data as a folder in which the features of each part have a
file of their own. All verbs open it as they do DATA. Of processes that train on it,
each reads the files of its own blocks, and needs no other: they are cut as the
folder says, unless --blocks, --partition or --method of train ask for something else.

What a training goes through all features for is found out here: whether they are
finite, their means and deviations, and what is wrong with them.`,
		Example: "  blockbp partition large -o parted\n  mpirun -np 4 blockbp train parted -o run",
		RunE:    func(cmd *cobra.Command, args []string) error { return a.partition(&f, args) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "out", "o", "", "folder to make")
	readsArguments(cmd, "a network: an .npz file or a folder of arrays")
	a.writes(cmd, "out", always(outputFolder))
	forceable(cmd, forceHelp)
	fl.IntVar(&f.parts, "parts", parted.Sums, "files of features: as many processes can have some of their own")
	f.cut.register(fl)
	fl.Lookup("blocks").Usage, fl.Lookup("partition").Usage = "blocks, as of train", "how to cut, as of train"
	fl.Uint64Var(&f.options.Seed, "seed", 1, "seed of --partition metis")
	threadsVar(fl, &f.options.Threads, "number of threads; results do not depend on it")
	f.data.registerMemory(fl)
	fl.BoolVar(&f.json, "json", false, "print the result as one JSON object")
	return cmd
}

// partitioned is what partition says.
type partitioned struct {
	Out    string `json:"out"`
	Nodes  int    `json:"nodes"`
	Edges  int    `json:"edges"`
	Blocks int    `json:"blocks"`
	Parts  int    `json:"parts"`
	Shared int    `json:"shared_edges"`
	Bytes  int64  `json:"bytes"`
}

func (a *app) partition(f *partitionVerbFlags, args []string) error {
	if f.out == "" || len(args) != 1 {
		return usagef("partition: want blockbp partition DATA -o DIR")
	}
	if f.parts < 1 || f.parts > parted.Sums {
		return usagef("--parts %d: want 1 to %d", f.parts, parted.Sums)
	}
	var err error
	if f.options.Cut, err = f.cut.resolve(); err != nil {
		return err
	}
	set, err := a.openData(args, f.data.options(nil))
	if err != nil {
		return err
	}
	f.options.Memory = f.data.memory
	network, err := job.Partition(a.ctx, set, f.options, f.parts)
	if err != nil {
		return notTraining(err)
	}
	if err := job.CheckFolder(f.out, network); err != nil {
		return err
	}
	run, err := a.newFolder("out")
	if err != nil {
		return err
	}
	if err := network.Write(a.ctx, run.Via); err != nil {
		return err
	}
	g := set.Instances[0].Graph
	result := partitioned{f.out, g.NumNodes(), g.NumEdges(), network.Blocks, f.parts, network.SharedEdges(),
		network.FeatureBytes()}
	return a.print(f.json, result, "%s: %s and %s in %s of %s, %s of features; %s between parts are in both. Train "+
		"with mpirun -np N blockbp train %s -o RUN\n",
		f.out, describe.Counted(result.Nodes, "node"), describe.Counted(result.Edges, "edge"),
		describe.Counted(f.parts, "part"), describe.Counted(network.Blocks, "block"),
		memory.Text(float64(result.Bytes)), describe.Counted(result.Shared, "edge"), f.out)
}
