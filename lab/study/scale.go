package study

import (
	"fmt"
	"os"
	"path/filepath"
)

// Scale is the size of the studies.
type Scale string

// The scales: Small takes about five minutes on two cores without images, Paper has the sizes of
// the paper and takes hours. Tiny is for tests: seconds.
const (
	Small Scale = "small"
	Paper Scale = "paper"
	Tiny  Scale = "tiny"
)

// sizes are what a scale means.
type sizes struct {
	seeds  int
	rounds int // timings of each run
	// gridSides and baNodes are the networks of figures 2 to 4.
	gridSides, baNodes []int
	// blockGrids and blockBAs are those of figure 1, with blockSeeds problems each.
	blockGrids, blockBAs []int
	blockSeeds           int
	// gridBlocks and baBlocks are the numbers of blocks there.
	gridBlocks, baBlocks []int
	// theoremSteps is the number of iterations that theorem 1 is followed for.
	theoremSteps int
	// stepsSide is the side of the grids of the suite for step rules, whose BA graphs
	// have as many nodes; stepsCases is how many of its cases there are.
	stepsSide, stepsCases, stepsSeeds int
	familySide                        int // of the family's grids
	// images is how many images are learnt from, and imageWork the work of BBPL if it
	// does not converge before, and of each run in the search for steps.
	images    int
	imageWork float64
	// testImages are predicted after a training of at most trainPasses.
	testImages  int
	trainPasses float64
}

// sizesOf returns the sizes of a scale.
func sizesOf(s Scale) sizes {
	switch s {
	case Paper:
		return sizes{
			seeds: 1, rounds: 1,
			gridSides: []int{10, 50, 100, 150, 200}, baNodes: []int{100, 1000, 5000, 10000, 20000},
			blockGrids: []int{50, 100, 150, 200}, blockBAs: []int{1000, 5000, 10000, 20000}, blockSeeds: 1,
			gridBlocks: []int{4, 9, 16, 20, 25, 36, 49, 64, 81, 100}, baBlocks: []int{5, 10, 20, 25, 50, 100},
			theoremSteps: 200000,
			stepsSide:    60, stepsCases: len(suiteCases), stepsSeeds: 1, familySide: 12,
			images: 50, imageWork: 300, testImages: 20, trainPasses: 3000,
		}
	case Tiny:
		return sizes{
			seeds: 2, rounds: 1,
			gridSides: []int{5, 6}, baNodes: []int{40},
			blockGrids: []int{10}, blockBAs: []int{100}, blockSeeds: 1,
			gridBlocks: []int{4, 25}, baBlocks: []int{5, 20},
			theoremSteps: 300,
			stepsSide:    6, stepsCases: 2, stepsSeeds: 1, familySide: 3,
			images: 2, imageWork: 200, testImages: 1, trainPasses: 50,
		}
	}
	return sizes{
		seeds: 5, rounds: 2,
		gridSides: []int{10, 20, 30}, baNodes: []int{100, 300, 1000},
		blockGrids: []int{20, 30}, blockBAs: []int{300, 1000}, blockSeeds: 5,
		gridBlocks: []int{4, 9, 20, 25, 49, 100}, baBlocks: []int{5, 10, 20, 25, 50, 100},
		theoremSteps: 20000,
		stepsSide:    16, stepsCases: len(suiteCases), stepsSeeds: 1, familySide: 12,
		images: 2, imageWork: 150, testImages: 4, trainPasses: 200,
	}
}

// sizes returns those of the settings' scale, with the number of seeds asked for.
func (s Settings) sizes() sizes {
	x := sizesOf(s.Scale)
	if s.Seeds > 0 {
		x.seeds, x.blockSeeds = s.Seeds, s.Seeds
	}
	return x
}

// Validate quotes the first constraint that the settings violate.
func (s Settings) Validate() error {
	if s.Scale != Small && s.Scale != Paper && s.Scale != Tiny {
		return fmt.Errorf("study: violated constraint: the scale is %q or %q, got %q", Small, Paper, s.Scale)
	}
	if s.Seeds < 0 || s.Threads < 0 {
		return fmt.Errorf("study: violated constraint: seeds and threads ≥ 0, got %d and %d", s.Seeds, s.Threads)
	}
	return s.checkData()
}

// checkData looks for what studies on images need, where Data names it.
func (s Settings) checkData() error {
	if s.Data == "" {
		return nil
	}
	// What is missing should be told before hours of work, not after them.
	needed := []string{s.featureFolder()}
	for _, name := range []string{"images", "labels", trainList, testList} {
		needed = append(needed, filepath.Join(s.Data, name))
	}
	for _, path := range needed {
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("the data of images: %w; --data and --features name them, and "+
				"lab/README.md says what they need", err)
		}
	}
	return nil
}

// featureFolder is where the features of images are.
func (s Settings) featureFolder() string {
	if s.Features == "" {
		return filepath.Join(s.Data, "features")
	}
	return s.Features
}

// identified returns the settings with the key of the data, if there are any: a hash of the lists and
// of the names and sizes of labels and features, so that results are found again wherever data lie,
// and not taken for those of others. It fails where Validate does.
func (s Settings) identified() (Settings, error) {
	if err := s.Validate(); err != nil || s.Data == "" {
		return s, err
	}
	var files []string
	for _, list := range []string{trainList, testList} {
		text, err := os.ReadFile(filepath.Join(s.Data, list))
		if err != nil {
			return s, err
		}
		files = append(files, list, string(text))
	}
	for _, dir := range []string{filepath.Join(s.Data, "labels"), s.featureFolder()} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return s, err
		}
		for _, entry := range entries {
			info, err := entry.Info()
			if err != nil {
				return s, err
			}
			files = append(files, fmt.Sprintf("%s: %d bytes", entry.Name(), info.Size()))
		}
	}
	s.imageKey = hashOf(files)
	return s, nil
}
