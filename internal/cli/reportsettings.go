package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/blockbp/blockbp/internal/report"
)

// settingsShown are the options that a report names, in its order: what decides
// the course of a run, and its data. All others are in config.json.
var settingsShown = []struct{ option, key string }{
	{"method", "method"},
	{"step", "step rule"},
	{"l2", "l2"},
	{"class-weights", "class weights"},
	{"counting", "counting numbers"},
	{"blocks", "blocks per network"},
	{"together", "blocks per iteration"},
	{"partition", "partition"},
	{"inner-sweeps", "inner sweeps, at most"},
	{"order", "order of blocks"},
	{"precision", "precision of messages"},
	{"pairs", "pairs"},
	{"no-edges", "no edges"},
	{"seed", "seed"},
	{"init", "initial weights"},
	{"kind", "kind of data"},
	{"list", "list"},
	{"features", "features"},
	{"observed", "observed split"},
	{"eval", "evaluation"},
}

// reportSettings says what was run, from the resolved options.
func (t *training) reportSettings(page *report.Report) error {
	data, err := t.dataPaths()
	if err != nil {
		return err
	}
	pairs := []report.KeyValue{{Key: "data", Value: strings.Join(data, ", ")}}
	for _, s := range settingsShown {
		if value := settingText(t.options[s.option].Value); value != "" {
			pairs = append(pairs, report.KeyValue{Key: s.key, Value: value})
		}
	}
	page.Section("What was run")
	page.KeyValues(pairs)
	page.Paragraph("Values that were left open are as the run resolved them. All options, and where each came from, are in " + configFile + "; the hashes of the data are in " + dataFile + ".")
	return nil
}

// settingText writes the value of an option, and nothing for one that is off.
func settingText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case bool:
		if v {
			return "yes"
		}
		return ""
	case []string:
		return strings.Join(v, ", ")
	}
	return fmt.Sprint(value)
}

// dataPaths returns the absolute paths of the data.
func (t *training) dataPaths() ([]string, error) {
	var paths []string
	for _, path := range t.args {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		paths = append(paths, absolute)
	}
	return paths, nil
}
