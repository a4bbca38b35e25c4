package dataset

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/blockbp/blockbp/internal/atomicfile"
	"github.com/blockbp/blockbp/internal/uai"
	"github.com/blockbp/blockbp/mrf"
)

// networkFiles are what a network can be read from.
const networkFiles = "give one file, .uai, .bif, .fg, .wcsp, or .npz of log potentials; of data a model makes " +
	"networks (-m)"

// IsNetwork reports whether a file is most probably a network with explicit tables.
func IsNetwork(path string) bool {
	f := newPeek(path).best()
	return f != nil && f.kind == kindNetwork
}

// ReadNetwork reads a network with explicit tables: log potentials as arrays where
// the name ends in .npz, a .bif, .fg or .wcsp, else the UAI format, MARKOV or BAYES.
//
// The arrays are, with n nodes, m edges and k the largest number of states,
//
//	theta     [n, k] float        log potentials of nodes
//	theta_uv  [m, k, k] float     of edges, the first end's state first; [k, k]: all alike
//	edges     [m, 2] int          the ends of every edge
//	states    [n] int             the number of states of every node; left out: k
//	constant  [] float            what is added to every score; left out: 0
//
// Entries beyond a node's states are not looked at. Errors of the content are *Error.
func ReadNetwork(path string) (*mrf.Network, error) { return ReadNetworkWithin(path, 0) }

// ReadNetworkWithin is ReadNetwork with so many bytes of memory for the tables; 0 stands
// for four fifths of what the machine has available.
func ReadNetworkWithin(path string, allowed int64) (*mrf.Network, error) {
	if filepath.Ext(path) == ".npz" {
		p, err := readPotentialsFile(path, allowed)
		if err != nil {
			return nil, err
		}
		return p.Network(), nil
	}
	other := ""
	if isFolder(path) {
		other = "a folder"
	} else if f := newPeek(path).best(); f != nil && f.kind != kindNetwork && !atomicfile.IsOpen(path) {
		other = f.what
	}
	if other != "" {
		return nil, &Error{File: path, Problem: "it is " + other + ", where a network is wanted", Remedy: networkFiles}
	}
	n, err := uai.ReadFile(path)
	return n, networkError(err)
}

// ReadEvidence reads the states of observed variables of a network from a .uai.evid
// file: the state of each by its number. Several samples of them are an *Error.
func ReadEvidence(path string, n *mrf.Network) (map[int]int, error) {
	samples, err := uai.ReadEvidenceFile(path, n)
	switch {
	case err != nil:
		return nil, networkError(err)
	case len(samples) > 1:
		return nil, &Error{File: path, Problem: fmt.Sprintf("%d evidence samples, want at most one", len(samples))}
	case len(samples) == 0:
		return map[int]int{}, nil
	}
	return samples[0], nil
}

// WriteNetwork writes a network as ReadNetwork reads it, whole or not at all. Log
// values come back to the last bit. A network that the format cannot hold is an
// *Error.
func WriteNetwork(path string, n *mrf.Network) error {
	if filepath.Ext(path) == ".npz" {
		p, _, err := n.Pairwise()
		if err != nil {
			return &Error{File: path, Problem: err.Error(), Cause: err}
		}
		return writePotentials(path, p)
	}
	if err := uai.CheckWrite(n); err != nil {
		return &Error{File: path, Problem: err.Error(), Cause: err}
	}
	return atomicfile.Write(path, func(w io.Writer) error { return uai.Write(w, n) })
}

// networkError makes an *Error of a mistake in a UAI file.
func networkError(err error) error {
	var at *uai.Error
	if errors.As(err, &at) {
		return &Error{File: at.File, Line: at.Line, Problem: at.Reason, Cause: err}
	}
	return err
}
