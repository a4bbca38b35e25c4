package study

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/blockbp/blockbp/internal/infile"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// history is what an output folder remembers of the runs that made it.
type history struct {
	Settings
	// Studies are those that were asked for, in any run: the page tells of all.
	Studies []string `json:"studies"`
}

// readHistory returns nil for a folder that no run has made yet.
func readHistory(dir string) (*history, error) {
	text, err := infile.Read(filepath.Join(dir, settingsFile), "the settings of a study", infile.Text)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var h history
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, fmt.Errorf("%s: %w; remove the file to begin the study anew", filepath.Join(dir, settingsFile), err)
	}
	return &h, nil
}

// ScaleError says that a folder holds a study at another scale.
type ScaleError struct {
	Dir        string
	Has, Asked Scale
}

// Error implements error.
func (e *ScaleError) Error() string {
	return fmt.Sprintf("%s holds a study at scale %s, not %s: one page tells of one scale, so take another folder", e.Dir, e.Has, e.Asked)
}

// Resume fills in what settings leave open, Scale "", Seeds 0 and Data "", with that of
// the runs that made the output folder dir, or with the small scale where there is no
// such folder. Another scale than that of the folder is a *ScaleError. Data that are no
// longer where they were are left out; what was measured on them is still found.
func Resume(dir string, s Settings) (Settings, error) {
	h, err := readHistory(dir)
	if err != nil {
		return s, err
	}
	if h == nil {
		if s.Scale == "" {
			s.Scale = Small
		}
		return s, nil
	}
	if s.Scale == "" {
		s.Scale = h.Scale
	}
	if s.Scale != h.Scale {
		return s, &ScaleError{Dir: dir, Has: h.Scale, Asked: s.Scale}
	}
	if s.Seeds == 0 {
		s.Seeds = h.Seeds
	}
	if s.Data == "" {
		s.Data, s.Features, s.ImageKey = h.Data, h.Features, h.ImageKey
		if s.checkData() != nil {
			s.Data, s.Features = "", ""
		}
	}
	return s, nil
}

// withEarlier returns the studies together with those that earlier runs in the folder
// were asked for, in the order of the paper.
func withEarlier(studies []*Study, folder *runfolder.Run) ([]*Study, error) {
	h, err := readHistory(folder.Dir())
	if err != nil {
		return nil, err
	}
	names := namesOf(studies)
	if h != nil {
		names = append(names, h.Studies...)
	}
	return slices.DeleteFunc(All(), func(study *Study) bool { return !slices.Contains(names, study.Name) }), nil
}

// namesOf lists the names of studies.
func namesOf(studies []*Study) []string {
	names := []string{}
	for _, study := range studies {
		names = append(names, study.Name)
	}
	return names
}
