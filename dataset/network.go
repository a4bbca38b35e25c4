package dataset

import (
	"path/filepath"
	"strings"

	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/formats"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/uai"
	"github.com/blockbp/blockbp/mrf"
)

// networkFiles are what a network can be read from.
const networkFiles = "give one file, .uai, .bif, or .npz of log potentials; for data and " +
	"a model ask predict or sample (-m)"

// ReadNetwork reads a network with explicit tables: log potentials as arrays where the name ends in .npz, as
// docs/reference/formats.md has them, a .bif, else the UAI format, MARKOV or BAYES. Tables take at most so many bytes
// of memory as are allowed; 0 stands for four fifths of what the machine has available. Errors are *Error.
func ReadNetwork(path string, allowed int64) (*mrf.Network, error) {
	if filepath.Ext(path) == ".npz" {
		p, err := uai.ReadPotentials(path, allowed)
		if err != nil {
			return nil, public(err)
		}
		return p.Network(), nil
	}
	other, remedy := "", networkFiles
	if formats.IsFolder(path) {
		other = "a folder"
	} else if p := formats.Look(path); !fileio.IsOpen(path) && p.Best().Kind != formats.KindNetwork {
		if other = p.Best().What; strings.Contains(p.Advise(other), ".uai") {
			remedy = p.Advise(other)
		}
	}
	if other != "" {
		return nil, public(option.At(path, 0, "", remedy, "it is %s, where a network is wanted", other))
	}
	n, err := uai.ReadFile(path)
	return n, public(err)
}

// ReadEvidence reads the states of observed variables of a network from a .uai.evid
// file: the state of each by its number. Several samples of them are an *Error.
func ReadEvidence(path string, n *mrf.Network) (map[int]int, error) {
	states, err := uai.ReadEvidenceFile(path, n)
	return states, public(err)
}
