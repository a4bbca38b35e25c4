package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/printable"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/learn"
)

// pollEvery is how often the files of a run are looked at. Four times a second looks
// like motion; a look at files that did not change takes some ten microseconds.
const pollEvery = 250 * time.Millisecond

// Events, and what they hold.
type (
	// about is the event "about": what is being trained.
	about struct {
		Run    int      `json:"run"`    // which of those that are watched
		Name   string   `json:"name"`   // of the folder
		Folder string   `json:"folder"` // its absolute path
		Data   []string `json:"data"`
		Method string   `json:"method"`
	}
	// rows is the event "rows": records of the metrics.
	rows struct {
		Run  int                `json:"run"`
		Anew bool               `json:"anew"` // these are all; else they follow those before
		Rows []runfolder.Metric `json:"rows"`
	}
	// state is the event "state": how the run fares.
	state struct {
		Run      int          `json:"run"`
		Phase    string       `json:"phase"` // waiting, running, ended, or unseen: nobody works on it
		Label    string       `json:"label"`
		Text     string       `json:"text"`
		Left     string       `json:"left"`             // what time is left, where that is known
		Result   *job.Summary `json:"result,omitempty"` // where it has ended
		Pictures pictures     `json:"pictures,omitempty"`
	}
)

// stream tells one reader of a run.
type stream struct {
	run     int
	dir     string
	done    *job.Doneness
	metrics *runfolder.Follower
	so      history
	sent    map[string][]byte // last text of events that are sent when they change
}

// follow sends events of runs until the context ends or nobody reads them any more.
func follow(ctx context.Context, dirs []string, send func(text []byte) error) {
	var streams []*stream
	for i, dir := range dirs {
		streams = append(streams, &stream{run: i, dir: dir, sent: map[string][]byte{},
			metrics: runfolder.Follow(filepath.Join(dir, runfolder.MetricsFile))})
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		for _, s := range streams {
			if err := s.look(send); err != nil {
				return // the reader has gone
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look sends what has changed.
func (s *stream) look(send func(text []byte) error) error {
	// The state is found before the metrics are read: a run that has ended has written all of them.
	atWork := runfolder.CheckUnlocked(s.dir)
	end, endErr := s.readResult()
	from := len(s.so.rows)
	anew := false
	err := s.metrics.Next(func() { s.so, s.done, from, anew = history{}, nil, 0, true }, func(m *runfolder.Metric) {
		s.note(m)
		if s.so.add(m) {
			from, anew = 0, true
		}
	})
	if anew || from < len(s.so.rows) {
		if err := s.event("rows", rows{s.run, anew || from == 0, s.so.rows[from:]}, send); err != nil {
			return err
		}
	}
	if err := s.changed("about", s.about(), send); err != nil {
		return err
	}
	return s.changed("state", s.state(atWork, end, errors.Join(endErr, err)), send)
}

// note forecasts what time is left.
func (s *stream) note(m *runfolder.Metric) {
	if s.done == nil {
		s.done = &job.Doneness{}
		if config, err := job.ReadConfig(s.dir); err == nil {
			s.done.Settings = config.Stops()
		}
	}
	s.done.Of(learn.Event{Iteration: m.Iter, Pass: m.Pass, Elapsed: time.Duration(m.WallS * float64(time.Second)),
		Objective: m.Objective, GradientNorm: m.GradNorm, Suboptimality: m.Suboptimality})
}

// event sends one event.
func (s *stream) event(name string, v any, send func(text []byte) error) error {
	text, err := printable.Encode(v, "")
	if err != nil {
		return err
	}
	return send(fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, text))
}

// changed sends an event if it is not the one that was sent last.
func (s *stream) changed(name string, v any, send func(text []byte) error) error {
	return s.event(name, v, func(text []byte) error {
		if bytes.Equal(text, s.sent[name]) {
			return nil
		}
		s.sent[name] = text
		return send(text)
	})
}

// about reads what is known of the run.
func (s *stream) about() about {
	folder, err := filepath.Abs(s.dir)
	if err != nil {
		folder = s.dir
	}
	a := about{Run: s.run, Name: printable.Line(filepath.Base(folder)), Folder: printable.Line(folder), Data: []string{}}
	config, err := job.ReadConfig(s.dir)
	if err != nil {
		return a // it has not come so far, or a folder of metrics alone
	}
	for _, path := range config.Data {
		a.Data = append(a.Data, printable.Line(path))
	}
	if method, ok := config.Options["method"]; ok {
		a.Method = printable.Line(fmt.Sprint(method.Value))
	}
	return a
}

// readResult reads result.json, nil if there is none.
func (s *stream) readResult() (*job.Summary, error) {
	path := filepath.Join(s.dir, job.ResultFile)
	if _, err := fileio.Check(path, "the result of a run"); err != nil {
		return nil, nil
	}
	text, err := fileio.Read(path, "the result of a run", fileio.Text)
	if err != nil {
		return nil, err
	}
	var r job.Summary
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &r, nil
}

// state says how the run fares. atWork is what runfolder.CheckUnlocked found, and wrong what files could not be read.
func (s *stream) state(atWork error, end *job.Summary, wrong error) state {
	last := s.so.last()
	var inUse *runfolder.InUseError
	v := state{Phase: "unseen", Label: "not running", Text: fmt.Sprintf("No process is seen at work here, and there "+
		"is no result of these iterations. blockbp train %s --resume goes on.", printable.Word(s.dir))}
	switch {
	case errors.As(atWork, &inUse) && last < 0:
		v = state{Phase: "waiting", Label: "starting",
			Text: fmt.Sprintf("By %s. Data are read, or candidates are compared: there are no metrics yet.", inUse.By)}
	case errors.As(atWork, &inUse):
		v = state{Phase: "running", Label: "running", Text: fmt.Sprintf("By %s.", inUse.By), Left: s.done.Left()}
	case end != nil && end.Iterations >= last: // otherwise it is of before the run was resumed
		v = state{Phase: "ended", Label: strings.ReplaceAll(string(end.Status), "_", " "), Text: end.Reason, Result: end}
	}
	v.Run, v.Pictures = s.run, picturesOf(s.dir)
	if wrong != nil {
		v.Text = strings.TrimSpace(v.Text + " " + wrong.Error())
	}
	v.Label, v.Text = printable.Line(v.Label), printable.Line(v.Text)
	return v
}

// pictures are the addresses of files of pictures, which are others where a file is another.
type pictures map[string]string

// picturesOf are those that a run has drawn.
func picturesOf(dir string) pictures {
	found := pictures{}
	entries, err := os.ReadDir(filepath.Join(dir, runfolder.PlotFolder))
	if err != nil {
		return nil // there are none
	}
	for _, entry := range entries {
		name := entry.Name()
		if info, err := entry.Info(); err == nil && strings.HasPrefix(name, "pictures") && filepath.Ext(name) == ".svg" {
			found[name] = fmt.Sprintf("%s?%d", url.PathEscape(name), info.ModTime().UnixNano())
		}
	}
	return found
}
