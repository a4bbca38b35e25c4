//go:build linux

package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

var claims = attack{
	name: "claims", about: "what SECURITY.md denies: sockets, libraries, programs; a module without licence",
	full: 4 * len(quiet), short: len(quiet) + 2, share: 1, setup: setupClaims,
}

// quiet are commands that load nothing, start nothing and connect to nothing, whatever the environment
// says. DATA is the folder of data sets. The last two are for what watch opens, and for licences.
var quiet = []string{
	"train DATA/grid -o r -q --max-passes 30", "train DATA/ba -o r -q --max-passes 5 --partition bfs",
	"train DATA/images -o r -q --max-passes 2", "infer DATA/net.uai --task MAR --method gibbs",
	"sample DATA/net.uai -o s.npz -q", "check DATA/sentences/train", "info DATA/grid --json",
	"watch DATA/run", "version --licences",
}

func setupClaims(c *campaign, _ string) (func(t *trial), error) {
	run, err := c.data("run")
	if err != nil {
		return nil, err
	}
	if _, err := c.must(filepath.Dir(run), "train", "grid", "-o", "run", "-q", "--max-passes", "2"); err != nil {
		return nil, err
	}
	return func(t *trial) { tryClaim(t, quiet[t.n%len(quiet)], filepath.Dir(run)) }, nil
}

func tryClaim(t *trial, line, data string) {
	p := t.startTempted(strings.Fields(strings.ReplaceAll(line, "DATA", data)))
	if strings.HasPrefix(line, "watch ") {
		listensHere(t, p)
		return
	}
	for waited(p, 2*time.Millisecond) {
		if what := reached(p.Process.Pid); what != "" {
			p.cancel()
			p.end()
			t.failf("%s %s, which SECURITY.md denies", line, what)
		}
	}
	r := p.end()
	t.bounded(r)
	if r.code != 0 && r.code != 5 {
		t.failf("%s: exit code %d: %s", r.line, r.code, cut(r.stderr, 300))
	}
	if t.exists("started") {
		t.failf("%s started %s, which SECURITY.md denies", line, t.read("started"))
	}
	if strings.HasPrefix(line, "version ") {
		hasLicences(t, r.stdout)
	}
}

// startTempted starts the command where programs and libraries that it may only ask for by some options
// stand ready: programs that leave a note, and a pipe that whoever loads it waits for.
func (t *trial) startTempted(args []string) *process {
	trap := t.path("trap.so")
	t.must(syscall.Mkfifo(trap, 0o600))
	t.must(os.Mkdir(t.path("bin"), 0o755))
	for _, name := range []string{"python3", "python", "mpirun", "sh", "xdg-open"} {
		note := fmt.Sprintf("#!/bin/sh\necho %s > '%s'\n", name, t.path("started"))
		t.must(os.WriteFile(filepath.Join(t.path("bin"), name), []byte(note), 0o755))
	}
	environment := []string{"env", "PATH=" + t.path("bin") + ":" + os.Getenv("PATH"), "BLOCKBP_MPI=" + trap,
		"BLOCKBP_ONNXRUNTIME=" + trap, "HTTP_PROXY=http://127.0.0.1:9"}
	return t.startAs(slices.Concat(environment, []string{t.c.blockbp}, args)...)
}

var (
	library = regexp.MustCompile(`/([^/]+\.so[.0-9]*)$`)
	// ofSystem are the libraries that every program may begin with.
	ofSystem = regexp.MustCompile(`^(ld-|ld64|lib(c|dl|m|pthread|resolv)[.-])`)
)

// reached says which socket a process has, or which library, "" if none: a process that has ended has none.
func reached(pid int) string {
	if sockets := socketsOf(pid); len(sockets) > 0 {
		return "has a " + sockets[0]
	}
	maps, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	for line := range strings.Lines(string(maps)) {
		if name := library.FindStringSubmatch(strings.TrimSpace(line)); name != nil && !ofSystem.MatchString(name[1]) {
			return "loaded " + name[1]
		}
	}
	return ""
}

// socketsOf are the sockets of a process, such as socket:[123].
func socketsOf(pid int) (sockets []string) {
	folder := fmt.Sprintf("/proc/%d/fd", pid)
	entries, _ := os.ReadDir(folder)
	for _, entry := range entries {
		if link, _ := os.Readlink(filepath.Join(folder, entry.Name())); strings.HasPrefix(link, "socket:") {
			sockets = append(sockets, link)
		}
	}
	return sockets
}

// listensHere wants watch to listen on one port of 127.0.0.1, and to open nothing else.
func listensHere(t *trial, p *process) {
	sockets, here := 0, 0
	for began := time.Now(); here == 0 && time.Since(began) < patience/2 && waited(p, 2*time.Millisecond); {
		open := socketsOf(p.Process.Pid)
		sockets, here = len(open), listening(p.Process.Pid, open)
	}
	t.must(p.Process.Signal(os.Interrupt))
	t.bounded(p.end())
	if here != 1 || sockets != 1 {
		t.failf("%s has %d sockets, of which %d listen on 127.0.0.1: want one, which does", p.line, sockets, here)
	}
}

// listening counts the sockets that listen on 127.0.0.1.
func listening(pid int, sockets []string) (here int) {
	table, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", pid))
	const local, state, inode = 1, 3, 9 // columns
	for line := range strings.Lines(string(table)) {
		words := strings.Fields(line)
		if len(words) > inode && slices.Contains(sockets, "socket:["+words[inode]+"]") && words[state] == "0A" &&
			strings.HasPrefix(words[local], "0100007F:") {
			here++
		}
	}
	return here
}

// hasLicences wants the texts to name every module that the attacked command says it is made of.
func hasLicences(t *trial, texts string) {
	info, err := buildinfo.ReadFile(t.c.blockbp)
	t.must(err)
	for _, module := range info.Deps {
		if !strings.Contains(texts, "\n"+module.Path+" "+module.Version+": ") {
			t.failf("the command has %s %s, and version --licences does not: make licences", module.Path, module.Version)
		}
	}
}
