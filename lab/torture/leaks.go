//go:build linux

package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
)

// leaks are what calls of the library and of commands in one process leave, counted by its own tests.
var leaks = attack{
	name: "leaks", about: "many calls in one process leave no maps, files, goroutines or memory", full: len(soaks), short: 2, share: 2, alone: true,
	setup: func(c *campaign, dir string) (func(t *trial), error) {
		for name, folder := range map[string]string{"library": ".", "commands": "./internal/cli"} {
			build := exec.CommandContext(c.ctx, "go", "test", "-c", "-o", filepath.Join(dir, name), folder)
			if out, err := build.CombinedOutput(); err != nil {
				return nil, fmt.Errorf("%v: %s (start this by go run -C lab ./torture)", build, out)
			}
		}
		calls := 300
		if c.short {
			calls = 60
		}
		return func(t *trial) {
			s := soaks[t.n%len(soaks)]
			r := t.startAs("env", fmt.Sprintf("BLOCKBP_SOAK=%d", calls), filepath.Join(dir, s.test), "-test.run", "^TestSoak$/^"+s.kind).end()
			t.whole(r)
			if r.code != 0 {
				t.failf("%s: %s", r.line, cut(r.text(), 500))
			}
		}, nil
	},
}

// soaks are the kinds of calls of TestSoak.
var soaks = []struct{ test, kind string }{
	{"library", "networks_in_arrays,_closed"}, {"commands", "errors"}, {"library", "networks_in_arrays$"}, {"library", "a_network_in_arrays"}, {"library", "photographs,_closed"}, {"library", "photographs$"},
	{"library", "tables"}, {"library", "sentences"}, {"library", "memory"}, {"library", "errors"},
	{"commands", "a_partitioned_network"}, {"commands", "instances"}, {"commands", "networks"},
}
