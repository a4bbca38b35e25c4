package job

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

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
