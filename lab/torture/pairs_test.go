//go:build linux

package torture

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestPairs: several commands in one run folder: one wins, nothing is mixed.
func TestPairs(t *testing.T) { attack(t, 6, 60, setupPairs) }

// racers are trainings into the same folder.
var racers = []problem{
	{"seed-1", "grid", "--order random --seed 1 --max-passes 40 --rtol 1e-9 --checkpoint-every 10ms"},
	{"seed-2", "grid", "--order random --seed 2 --max-passes 40 --rtol 1e-9 --checkpoint-every 10ms"},
}

func setupPairs(c *campaign, dir string) (func(t *trial), error) {
	var both []victim
	for _, p := range racers {
		v, err := c.leaveAlone(dir, p.name, c.train(p))
		if err != nil {
			return nil, err
		}
		both = append(both, v)
	}
	return func(t *trial) {
		switch t.n % 5 {
		case 0, 1, 2:
			race(t, both)
		case 3:
			resumeRunning(t, both[0])
		default:
			watchRunning(t, both[0])
		}
	}, nil
}

// race starts two trainings into one new folder.
func race(t *trial, both []victim) {
	first := t.start(append(both[0].args, "-o", "r")...)
	delay := time.Duration(0)
	if t.n%3 > 0 {
		delay = time.Duration(t.rng.IntN(3000)) * time.Microsecond
	}
	waited(first, delay)
	second := t.start(append(both[1].args, "-o", "r")...)
	results := []*result{first.end(), second.end()}
	winner := -1
	for i, r := range results {
		t.bounded(r)
		if r.code == 0 && winner >= 0 {
			t.failf("both trainings into one folder, %v apart, end with exit code 0", delay)
		}
		if r.code == 0 {
			winner = i
		}
	}
	if winner < 0 {
		t.failf("neither of two trainings into one folder, %v apart, succeeds: %s %s", delay, results[0].stderr,
			results[1].stderr)
	}
	same(t, "r", both[winner].alone)
	var config struct {
		Options map[string]struct{ Value any }
	}
	t.must(json.Unmarshal(t.read("r/config.json"), &config))
	if got := fmt.Sprint(config.Options["seed"].Value); got != fmt.Sprint(winner+1) {
		t.failf("config.json has seed %s, and the training of seed %d won", got, winner+1)
	}
}

// resumeRunning resumes a training that is still going on, and starts another in its
// folder, by force too.
func resumeRunning(t *trial, v victim) {
	p := t.start(append(v.args, "-o", "r")...)
	waited(p, time.Duration((0.2+0.5*t.rng.Float64())*v.seconds*float64(time.Second)))
	for _, args := range [][]string{{"train", "r", "--resume", "-q"},
		append(v.args, "-o", "r"), append(v.args, "-o", "r", "--force")} {
		r := t.run(args...)
		// What has just ended may need a moment to leave.
		if r.code == 0 && waited(p, 100*time.Millisecond) {
			_ = p.Process.Kill()
			p.end()
			t.failf("%s ends with exit code 0 while another training of that folder goes on", r.line)
		}
	}
	ends(t, p, v)
}

// watchRunning reads a run folder while it is written to.
func watchRunning(t *trial, v victim) {
	p := t.start(append(v.args, "-o", "r")...)
	for i := 0; waited(p, 10*time.Millisecond); i++ {
		r := t.start(strings.Fields([]string{"info r", "check r/model.safetensors"}[i%2])...).end()
		t.bounded(r)
	}
	ends(t, p, v)
}

// ends wants a training to end as if it had been alone, but for the files of others.
func ends(t *trial, p *process, v victim) {
	r := p.end()
	t.bounded(r)
	if r.code != 0 {
		t.failf("%s: exit code %d: %s", r.line, r.code, r.stderr)
	}
	got, err := readRun(t.path("r"))
	t.must(err)
	if text := got.differs(v.alone); text != "" {
		t.failf("the run is another: %s", text)
	}
}
