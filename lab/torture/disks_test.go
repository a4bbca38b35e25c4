//go:build linux

package torture

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestDisks: full disks: whole files or none, and resumed to the same.
func TestDisks(t *testing.T) { attack(t, 8, 120, setupDisks) }

// filling are the trainings that fill a disk, with a report; the second goes on with
// one that was stopped.
var filling = []problem{
	{"sentences", "sentences/train", "--max-passes 12"},
	{"grid", "grid", "--method full --max-passes 12"},
}

// writers are commands that write a file, and what is large enough of it not to fit.
var writers = []string{
	"sample net.uai --samples 2000 -q -o OUT.npz",
	"infer net.uai --task MAR -o OUT.MAR",
	"predict data -m run -q -o OUT",
	"eval data -m run -q -o OUT",
}

// page is what a disk in memory gives away at a time.
const page = 4096

// disk is a small disk in the folder disk of a trial: one in memory, of some size, or
// where that is not allowed, or by lot, a limit on the size of every file.
type disk struct {
	t     *trial
	limit int64 // bytes of a file, 0: it is a disk of its own
}

// newDisk makes a disk with room for so many bytes.
func newDisk(t *trial, room int64) *disk {
	d := &disk{t: t}
	dir := t.path("disk")
	t.must(os.Mkdir(dir, 0o755))
	if t.rng.IntN(3) > 0 && syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", max(page, room))) == nil {
		t.notef("# disk/ is a disk of %d bytes", room)
		t.undo = append(t.undo, func() {
			if t.fault != "" {
				_ = os.CopyFS(t.path("disk-as-it-was"), os.DirFS(dir))
			}
			_ = syscall.Unmount(dir, syscall.MNT_DETACH)
		})
		return d
	}
	d.limit = max(512, room/4)
	t.notef("# files are limited to %d bytes", d.limit)
	return d
}

// run runs a command that may find the disk full.
func (d *disk) run(args ...string) *result {
	if d.limit == 0 {
		return d.t.run(args...)
	}
	limited := fmt.Sprintf(`ulimit -f %d; exec "$@"`, (d.limit+511)/512)
	r := d.t.startAs(append([]string{"sh", "-c", limited, "sh", d.t.c.blockbp}, args...)...).end()
	d.t.bounded(r)
	return r
}

// enlarge makes room.
func (d *disk) enlarge() {
	if d.limit > 0 {
		d.limit = 0
		return
	}
	d.t.must(syscall.Mount("tmpfs", d.t.path("disk"), "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%d", 64<<20)))
}

// filled is a training that was left alone, and the same stopped half-way.
type filled struct {
	args    []string
	alone   *ran
	stopped string // folder
	bytes   int64
}

func setupDisks(c *campaign, dir string) (func(t *trial), error) {
	for from, to := range map[string]string{"grid": "data", "net.uai": "net.uai"} {
		if err := copyPath(c.data(from), filepath.Join(dir, to)); err != nil {
			return nil, err
		}
	}
	if _, err := c.must(dir, "train", "data", "-o", "run", "--max-passes", "1", "-q", "--report=false"); err != nil {
		return nil, err
	}
	var all []filled
	for _, p := range filling {
		f := filled{stopped: filepath.Join(dir, p.name+"-stopped")}
		args := append([]string{"train", c.data(p.data), "-q"}, strings.Fields(p.args)...)
		v, err := c.leaveAlone(dir, p.name, slices.Clip(args))
		if err != nil {
			return nil, err
		}
		f.args, f.alone = v.args, v.alone
		if _, err := c.must(dir, append(f.args, "-o", f.stopped, "--max-passes", "6")...); err != nil {
			return nil, err
		}
		if f.bytes, err = pagesBelow(filepath.Join(dir, p.name)); err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return func(t *trial) {
		if t.n%3 == 2 {
			fillByOutput(t, dir, writers[t.n/3%len(writers)])
		} else {
			fillByTraining(t, all[t.n/3%len(all)], t.n%3 == 1)
		}
	}, nil
}

// pagesBelow is what the files below a folder take of a disk.
func pagesBelow(dir string) (sum int64, err error) {
	names, err := filesBelow(dir)
	for _, name := range names {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			return 0, err
		}
		sum += (info.Size() + page - 1) / page * page
	}
	return sum, err
}

// fillByTraining trains, or goes on with a stopped training, on a disk that is too small,
// and then on one that is not.
func fillByTraining(t *trial, f filled, resumed bool) {
	room := int64(t.rng.Float64() * float64(f.bytes))
	args := append(f.args, "-o", "disk/r")
	if resumed {
		used, err := pagesBelow(f.stopped)
		t.must(err)
		room = used + int64(t.rng.Float64()*float64(f.bytes)/2)
		args = []string{"train", "disk/r", "--resume", "-q", "--max-passes", "12"}
	}
	d := newDisk(t, room)
	if resumed {
		t.copy(f.stopped, "disk/r")
	}
	r := d.run(args...)
	if r.code == 0 {
		t.skip() // it was large enough
	}
	saysFull(t, r)
	wholeFiles(t, "disk")
	d.enlarge()
	if !t.exists("disk/r/checkpoint/state.safetensors") {
		if t.exists("disk/r/model.safetensors") {
			t.failf("there is a model, and no checkpoint")
		}
		return
	}
	if t.exists("disk/r/result.json") && !resumed && !strings.Contains(r.stderr, "model") {
		t.failf("%s: the result is there, and the message does not say that the model is saved: %s", r.line, r.stderr)
	}
	t.works("train", "disk/r", "--resume", "-q", "--max-passes", "12")
	same(t, "disk/r", f.alone)
}

// fillByOutput writes a file to a full disk, where one of that name may be.
func fillByOutput(t *trial, dir, writer string) {
	for _, name := range []string{"data", "run", "net.uai"} {
		t.copy(filepath.Join(dir, name), name)
	}
	used := int64(0)
	if t.rng.IntN(2) == 0 {
		used = page
	}
	d := newDisk(t, used+page)
	out := "disk/" + filepath.Base(strings.Fields(writer)[len(strings.Fields(writer))-1])
	old := []byte(strings.Repeat("old ", page/4))
	line := strings.ReplaceAll(writer, "OUT", "disk/OUT")
	if used > 0 && filepath.Ext(out) != "" {
		t.write(out, old)
		line += " --force"
	}
	if d.limit == 0 {
		t.write("disk/filler", make([]byte, page)) // nothing is left
	} else {
		d.limit = 512
	}
	r := d.run(strings.Fields(line)...)
	if r.code == 0 {
		t.failf("%s: exit code 0 on a full disk", r.line)
	}
	if r.code == 2 {
		t.skip() // no --force
	}
	saysFull(t, r)
	if used > 0 && filepath.Ext(out) != "" {
		if !bytes.Equal(t.read(out), old) {
			t.failf("%s: %s is no longer what it was", r.line, out)
		}
	} else if filepath.Ext(out) != "" && t.exists(out) {
		t.failf("%s: there is something at %s", r.line, out)
	}
	wholeFiles(t, "disk")
}

// saysFull wants a failure with its reason.
func saysFull(t *trial, r *result) {
	if r.code == 0 || !strings.Contains(r.stderr, "no space left") && !strings.Contains(r.stderr, "file too large") {
		t.failf("%s: exit code %d, want a message that the disk is full: %s", r.line, r.code, r.stderr)
	}
}

// wholeFiles wants every file under a final name to be whole. Metrics grow line by line.
func wholeFiles(t *trial, dir string) {
	names, err := filesBelow(t.path(dir))
	t.must(err)
	for _, name := range names {
		text := t.read(filepath.Join(dir, name))
		whole := true
		switch filepath.Ext(name) {
		case ".json":
			whole = json.Valid(text)
		case ".svg":
			whole = bytes.HasSuffix(bytes.TrimSpace(text), []byte("</svg>"))
		case ".html":
			whole = bytes.HasSuffix(bytes.TrimSpace(text), []byte("</html>"))
		case ".png":
			whole = bytes.HasSuffix(text, []byte("IEND\xaeB`\x82"))
		case ".npz":
			whole = bytes.Contains(text, []byte("PK\x05\x06")) || bytes.HasPrefix(text, []byte("old "))
		case ".safetensors":
			whole = bytes.HasPrefix(text, []byte("old ")) || t.run("check", filepath.Join(dir, name)).code != 1
		}
		if !whole && !strings.HasPrefix(filepath.Base(name), ".") {
			t.failf("%s is half a file", filepath.Join(dir, name))
		}
		if strings.HasPrefix(filepath.Base(name), ".") {
			t.failf("%s is left of a write that failed", filepath.Join(dir, name))
		}
	}
}
