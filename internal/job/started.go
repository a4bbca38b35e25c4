package job

import (
	"encoding/json"
	"path/filepath"
	"time"

	"github.com/blockbp/blockbp/internal/infile"
)

// Started is when the run in a folder was begun, 1970 where its env.json does not say.
func Started(dir string) time.Time {
	var env struct{ Time time.Time }
	text, err := infile.Read(filepath.Join(dir, envFile), "what a run ran on", infile.Text)
	if err != nil || json.Unmarshal(text, &env) != nil || env.Time.IsZero() {
		return time.Unix(0, 0)
	}
	return env.Time
}
