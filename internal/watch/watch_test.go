package watch

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// testToken is where pages of tests are.
const testToken = "secret"

// metricOf is a record of a made-up run.
func metricOf(iter int) runfolder.Metric {
	m, i := runfolder.NewMetric(iter), float64(iter)
	m.Pass, m.WallS, m.Block = i/20, i/100, iter%20
	m.Objective = 1.25 + 3*math.Exp(-i/80)*(1+0.1*math.Sin(i))
	m.GradNorm = 5*math.Exp(-i/90)*(1.2+math.Sin(i/3)) + 1e-6
	if iter%20 == 19 {
		m.Suboptimality = 6 * math.Exp(-i/70)
		m.Eval = map[string]float64{
			"test.accuracy": 0.84 - 0.3*math.Exp(-i/40), "dev.accuracy": 0.84 - 0.4*math.Exp(-i/60),
			"test.log_loss": 0.97 + math.Exp(-i/40), "dev.log_loss": 1.1 + math.Exp(-i/30),
		}
	}
	return m
}

// lines are records as a metrics file has them.
func lines(from, to int) string {
	var text strings.Builder
	for iter := from; iter < to; iter++ {
		line, err := json.Marshal(metricOf(iter))
		if err != nil {
			panic(err)
		}
		text.Write(append(line, '\n'))
	}
	return text.String()
}

// newRun is a folder in which a training is at work. finish ends it with a result, or with none.
func newRun(t *testing.T) (dir string, finish func(result string)) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run of \u202e\x1bnight")
	folder := oracle.Must(runfolder.Create(dir))(t)
	config := job.Config{Command: "train", Data: []string{"/data/<b>pictures</b>"}, Options: map[string]job.Option{"method": {Value: "bbpl", Source: "default"}, "max-passes": {Value: 100, Source: "flag"}}}
	oracle.OK(t, folder.WriteJSON("config.json", config))
	t.Cleanup(func() { folder.Close() })
	return dir, func(result string) {
		if result != "" {
			oracle.OK(t, os.WriteFile(filepath.Join(dir, job.ResultFile), []byte(result), 0o666))
		}
		oracle.OK(t, folder.Close())
	}
}

// write appends to the metrics of a run.
func write(t *testing.T, dir, text string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, runfolder.MetricsFile), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err == nil {
		_, err = f.WriteString(text)
	}
	oracle.OK(t, err)
	f.Close()
}

// listener reads events of a server.
type listener struct {
	t  *testing.T
	in *bufio.Reader
}

// listen opens the events of a run.
func listen(t *testing.T, dir string) *listener {
	t.Helper()
	server := httptest.NewServer(Handler([]string{dir}, testToken))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel) // before the server closes: it waits for its readers
	request := oracle.Must(http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/"+testToken+"/events", nil))(t)
	answer := oracle.Must(http.DefaultClient.Do(request))(t)
	t.Cleanup(func() { answer.Body.Close() })
	if kind := answer.Header.Get("Content-Type"); answer.StatusCode != http.StatusOK || kind != "text/event-stream" {
		t.Fatalf("status %d, content type %q", answer.StatusCode, kind)
	}
	return &listener{t, bufio.NewReader(answer.Body)}
}

// next is the next event of a name; others are passed over.
func (l *listener) next(name string, v any) {
	l.t.Helper()
	for {
		var parts [3]string
		for i := range parts {
			line, err := l.in.ReadString('\n')
			if err != nil {
				l.t.Fatalf("waiting for %s: %v", name, err)
			}
			parts[i] = strings.TrimSuffix(line, "\n")
		}
		event, isEvent := strings.CutPrefix(parts[0], "event: ")
		data, isData := strings.CutPrefix(parts[1], "data: ")
		if !isEvent || !isData || parts[2] != "" {
			l.t.Fatalf("no event: %q", parts)
		}
		if event == name {
			if err := json.Unmarshal([]byte(data), v); err != nil {
				l.t.Fatalf("%s: %v", data, err)
			}
			return
		}
	}
}

// wantRows reads rows until the iterations are those from a first to a last one.
func (l *listener) wantRows(anew bool, from, to int) {
	l.t.Helper()
	for first := true; from < to; first = false {
		var got rows
		l.next("rows", &got)
		if got.Anew != (anew && first) || len(got.Rows) == 0 {
			l.t.Fatalf("anew %v with %d rows, want iterations %d to %d", got.Anew, len(got.Rows), from, to-1)
		}
		for _, m := range got.Rows {
			if want := metricOf(from); m.Iter != from || m.Objective != want.Objective || m.Pass != want.Pass || len(m.Eval) != len(want.Eval) {
				l.t.Fatalf("row %+v, want %+v", m, want)
			}
			from++
		}
	}
}

// wantState reads states until one is in a phase.
func (l *listener) wantState(phase string, parts ...string) state {
	l.t.Helper()
	for {
		var got state
		if l.next("state", &got); got.Phase != phase {
			continue
		}
		for _, part := range parts {
			if !strings.Contains(got.Label+": "+got.Text, part) {
				l.t.Errorf("state %s: %q, want %q", got.Label, got.Text, part)
			}
		}
		return got
	}
}

// TestPictures: pictures of a run can be looked at, and no other files.
func TestPictures(t *testing.T) {
	dir, _ := newRun(t)
	oracle.OK(t, os.Mkdir(filepath.Join(dir, "plots"), 0o777))
	for _, name := range []string{"pictures-a b.svg", "gradient.svg", "pictures.png"} {
		oracle.OK(t, os.WriteFile(filepath.Join(dir, "plots", name), []byte(name), 0o666))
	}
	told := listen(t, dir).wantState("waiting").Pictures
	if address := told["pictures-a b.svg"]; len(told) != 1 || !strings.HasPrefix(address, "pictures-a%20b.svg?") {
		t.Errorf("the pictures are %v", told)
	}
	for path, want := range map[string]int{"0/pictures-a%20b.svg": 200, "0/gradient.svg": 404,
		"1/pictures-a%20b.svg": 404, "x/pictures-a%20b.svg": 404, "0/..%2fconfig.json": 404, "0/pictures.png": 404} {
		request, answer := httptest.NewRequest("GET", "http://localhost/secret/pictures/"+path, nil), httptest.NewRecorder()
		if Handler([]string{dir}, testToken).ServeHTTP(answer, request); answer.Code != want {
			t.Errorf("%s: %d, want %d", path, answer.Code, want)
		}
	}
}

// TestSeveral: events say of which run they are.
func TestSeveral(t *testing.T) {
	first, _ := newRun(t)
	second, finish := newRun(t)
	write(t, first, lines(0, 3))
	write(t, second, lines(0, 5))
	finish("")
	seen := map[string]bool{}
	ctx, cancel := context.WithCancel(t.Context())
	follow(ctx, []string{first, second}, func(text []byte) error {
		var told struct {
			Run   int
			Phase string
			Rows  []runfolder.Metric
		}
		_, data, _ := strings.Cut(string(text), "data: ")
		if err := json.Unmarshal([]byte(data), &told); err != nil {
			t.Error(err)
		}
		seen[fmt.Sprint(told.Run, told.Phase, len(told.Rows))] = true
		if told.Run == 1 && told.Phase != "" {
			cancel()
		}
		return nil
	})
	for _, want := range []string{"03", "15", "0running0", "1unseen0"} {
		if !seen[want] {
			t.Errorf("no event %s in %v", want, seen)
		}
	}
}

func TestEvents(t *testing.T) {
	dir, finish := newRun(t)
	l := listen(t, dir)
	var what about
	l.next("about", &what)
	if what.Name != `run of \u202e\x1bnight` || what.Method != "bbpl" || len(what.Data) != 1 || what.Data[0] != "/data/<b>pictures</b>" {
		t.Errorf("about %+v", what)
	}
	l.wantState("waiting", "starting: By this very process", "no metrics yet")
	write(t, dir, lines(0, 3))
	l.wantRows(true, 0, 3)
	l.wantState("running", "running: By this very process")
	whole := lines(3, 4)
	write(t, dir, whole[:20]) // half of a line
	write(t, dir, "")
	time.Sleep(3 * pollEvery)
	write(t, dir, whole[20:]+lines(4, 30))
	l.wantRows(false, 3, 30)

	// What a resumed run does.
	oracle.OK(t, os.WriteFile(filepath.Join(dir, runfolder.MetricsFile), []byte(lines(0, 10)), 0o666))
	l.wantRows(true, 0, 10)
	write(t, dir, lines(10, 12))
	l.wantRows(false, 10, 12)

	// One that joins later sees the same, and a line that is no record.
	late := listen(t, dir)
	late.wantRows(true, 0, 12)
	write(t, dir, "{\"iter\":}\n"+lines(12, 13))
	late.wantRows(false, 12, 13)
	late.wantState("running", "metrics.jsonl:13: ")

	write(t, dir, lines(13, 20))
	finish(`{"status": "objective_change", "reason": "1 ≤ 2", "iterations": 19, "objective": null, "seconds": 2.5, "eval": {"accuracy@test": 0.5}}`)
	end := l.wantState("ended", "objective change: 1 ≤ 2").Result
	if end.Iterations != 19 || end.Seconds != 2.5 || !math.IsNaN(float64(end.Objective)) || end.Eval["accuracy@test"] != 0.5 {
		t.Errorf("result %+v", end)
	}
}

// TestStates: what is said of a run that nobody works on, by what is there.
func TestStates(t *testing.T) {
	for _, c := range []struct {
		name, result string
		records      int
		want         string
	}{
		{"killed", "", 5, "unseen"}, {"never begun", "", 0, "unseen"},
		{"ended", `{"status":"converged","iterations":4}`, 5, "ended"},
		{"resumed, and killed then", `{"status":"pass_limit","iterations":3}`, 5, "unseen"},
	} {
		dir, finish := newRun(t)
		write(t, dir, lines(0, c.records))
		finish(c.result)
		listen(t, dir).wantState(c.want)
	}
	dir, finish := newRun(t)
	finish("{")
	listen(t, dir).wantState("unseen", job.ResultFile)
}

// TestRequests: nobody else may ask, and nothing else can be asked for.
func TestRequests(t *testing.T) {
	dir, _ := newRun(t)
	for _, c := range []struct {
		method, host, path string
		want               int
	}{
		{"GET", "127.0.0.1:8000", "/secret/", 200},
		{"GET", "localhost:9000", "/secret/", 200}, {"GET", "LocalHost", "/secret/", 200},
		{"GET", "[::1]:9000", "/secret/", 200},
		{"GET", "LocalHost", "/secret", 301},
		{"GET", "127.0.0.1:8000", "/", 404}, // another user of the machine
		{"GET", "127.0.0.1:8000", "/events", 404}, {"GET", "127.0.0.1:8000", "/secre/events", 404},
		{"GET", "127.0.0.1:8000", "/secrets/events", 404}, {"GET", "evil.example:8000", "/", 403},
		{"GET", "evil.example", "/secret/events", 403},
		{"GET", "127.0.0.1.evil.example:8000", "/secret/events", 403}, {"GET", "", "/secret/", 403},
		{"GET", "other 192.0.2.7", "/secret/", 200}, {"GET", "other 192.0.2.7", "/guess/", 404},
		{"GET", "other 127.0.0.1", "/secret/", 403},
		{"POST", "127.0.0.1:8000", "/secret/", 405}, {"HEAD", "127.0.0.1:8000", "/secret/", 405},
		{"GET", "127.0.0.1:8000", "/secret/metrics.jsonl", 404},
		{"GET", "127.0.0.1:8000", "/secret/../config.json", 404},
	} {
		request := httptest.NewRequest(c.method, "http://x/", nil)
		request.Host, request.URL.Path = c.host, c.path
		answer := httptest.NewRecorder()
		if at, other := strings.CutPrefix(c.host, "other "); other { // --host has opened an address of this machine
			server := &http.Server{Addr: at + ":80"}
			request = request.WithContext(context.WithValue(request.Context(), http.ServerContextKey, server))
		}
		Handler([]string{dir}, testToken).ServeHTTP(answer, request)
		if got := answer.Code; got != c.want && (c.want != 404 || got != http.StatusMovedPermanently && got != http.StatusTemporaryRedirect) {
			t.Errorf("%s %s from %q: %d, want %d", c.method, c.path, c.host, got, c.want)
		}
		if header := answer.Header(); header.Get("Content-Security-Policy") != policy || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s %s: headers %v", c.method, c.path, header)
		}
	}
	if got := strings.Count(policy, "'sha256-"); got != 4 || strings.Contains(policy, "unsafe") {
		t.Errorf("the policy allows %d elements: %s", got, policy)
	}
}

// TestPageLoadsNothing: the page has all that it needs, and puts texts in as texts.
func TestPageLoadsNothing(t *testing.T) {
	oracle.Equal(t, regexp.MustCompile(`/\* (page|uplot)\.(css|js) \*/`).FindString(page), "", "what is still in the page")
	if found := regexp.MustCompile(`(?i)<(link|script|img)[^>]*(src|href)="[^d"]|@import|innerHTML|insertAdjacentHTML|document\.write`).FindString(pageHTML + pageCSS + pageJS); found != "" {
		t.Errorf("the page has %q", found)
	}
}

// TestChartLibrary: the files are those of the npm package uplot 1.6.32.
func TestChartLibrary(t *testing.T) {
	for name, want := range map[string]string{
		"uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
		"uPlot.min.css":     "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
		"LICENSE":           "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
	} {
		content := oracle.Must(os.ReadFile(filepath.Join("uplot", name)))(t)
		if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s has the hash %x, want %s", name, sum, want)
		}
	}
}

// TestHistory: a long run is shown in as many rows as a page can draw, with its ends and its evaluations.
func TestHistory(t *testing.T) {
	const n = 200_000
	var h history
	thinned, evaluated := 0, 0
	for i := range n {
		m := runfolder.NewMetric(i)
		if i%1000 == 7 {
			m.Eval = map[string]float64{"dev.accuracy": float64(i)}
		}
		if h.add(&m) {
			thinned++
		}
	}
	for i, m := range h.rows {
		if m.Eval != nil {
			evaluated++
		}
		if i > 0 && m.Iter <= h.rows[i-1].Iter {
			t.Fatalf("iteration %d follows %d", m.Iter, h.rows[i-1].Iter)
		}
	}
	if len(h.rows) > mostRows || h.rows[0].Iter != 0 || h.last() != n-1 || thinned == 0 || thinned > n/1000 || evaluated < n/1000-5 {
		t.Errorf("%d rows from %d to %d, %d with evaluations, after %d thinnings", len(h.rows), h.rows[0].Iter, h.last(), evaluated, thinned)
	}
}

// TestServe: the end of the context ends the server and its readers, without an error.
func TestServe(t *testing.T) {
	dir, _ := newRun(t)
	at := oracle.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- Serve(ctx, at, []string{dir}, testToken) }()
	answer := oracle.Must(http.Get(fmt.Sprintf("http://%s/%s/events", at.Addr(), testToken)))(t)
	defer answer.Body.Close()
	stop()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if _, err := io.ReadAll(answer.Body); err == nil {
		t.Log("the reader saw a proper end")
	}
}
