package job

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/learn"
)

// TestRecordsDamageIsFound: what a resumed run goes by is refused if it was changed
// anywhere.
func TestRecordsDamageIsFound(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	set := chains(t, 3)
	e := oracle.Must(NewEvaluation("dev", set, set.Instances))(t)
	set.Sources = []dataset.Source{{Path: "a.npz", SHA256: "00ff", Bytes: 17}, {Path: "ü.npz", SHA256: "00fe"}}
	folder := &Folder{Dir: dir, NoReport: true, Config: Config{Data: []string{"/data/ü"}, Options: map[string]Option{"eval": {[]string{"dev=x"}, "flag"}}}}
	train(t, Options{Settings: learn.Settings{MaxIterations: 3}, AutoL2: true}, Task{Set: set, Evaluations: []*Evaluation{e}}, folder)
	for name, fresh := range map[string]func() any{
		configFile: func() any { return &Config{} },
		dataFile:   func() any { return &dataRecord{} },
		choiceFile: func() any { return &Choice{} },
	} {
		path := filepath.Join(dir, name)
		raw := oracle.Must(os.ReadFile(path))(t)
		want := fresh()
		if err := parseRecord(raw, want); err != nil || cmp.Equal(want, fresh()) {
			t.Fatalf("%s: %v, %+v", name, err, want)
		}
		for what, damaged := range oracle.Damaged(raw, 1) {
			got := fresh()
			if err := parseRecord(damaged, got); err == nil && !cmp.Equal(want, got) {
				t.Errorf("%s: %s was changed without an error: %+v", name, what, got)
			}
		}
	}
}

// TestConfigGivesKeysOnce: the value of a key that is given twice would depend on who
// reads it.
func TestConfigGivesKeysOnce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, configFile)
	text := "{\"command\": \"train\", \"options\": {\n\"l2\": {\"value\": 1},\n\"seed\": {\"value\": 7}}}"
	for _, c := range []struct{ before, after, want string }{
		{"", "", ""},
		{`"seed"`, `"l2"`, `config.json:3: key "l2" is given twice in one object`},
		{`"seed"`, `"L2"`, `config.json:3: keys "l2" and "L2" of one object differ in case only`},
		{`"value": 7`, `"value": 7, "value": 8`, `config.json:3: key "value" is given twice`},
	} {
		oracle.OK(t, os.WriteFile(path, []byte(strings.Replace(text, c.before, c.after, 1)), 0o666))
		_, err := ReadConfig(dir)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.after, err, c.want)
		}
	}
}
