// Package browser looks at the page of blockbp watch in a real browser.
package browser

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/internal/watch"
)

// testToken is where pages of tests are, and pollEvery how often they are looked at.
const (
	testToken = "secret"
	pollEvery = 250 * time.Millisecond
)

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
		if iter > 200 { // round, so that they are read off the page
			m.Eval = map[string]float64{"test.accuracy": 0.84, "dev.accuracy": 0.84, "test.log_loss": 0.97, "dev.log_loss": 1.1}
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

// digitsOf is a number of a record as the page shows it.
func digitsOf(t *testing.T, iter int, field string) string {
	t.Helper()
	m := metricOf(iter)
	v := map[string]float64{"objective": m.Objective, "grad_norm": m.GradNorm}[field]
	rounded := oracle.Must(strconv.ParseFloat(strconv.FormatFloat(v, 'e', 4, 64), 64))(t)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// newRun is a folder in which a training is at work. finish ends it with a result, or
// with none.
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

// patience is how long a browser may take for all of a test, on a slow machine.
const patience = 2 * time.Minute

// browser is a page in a real browser, driven by the pipes of its protocol for
// developers: JSON texts that end with a zero byte.
type browser struct {
	t       *testing.T
	out     *os.File
	in      *bufio.Reader
	last    int
	session string
}

// openBrowser starts a browser with one empty page.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("skipped: a browser is driven through pipes that Windows does not pass on; the test runs on Unix")
	}
	names := []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}
	at := slices.IndexFunc(names, func(name string) bool { _, err := exec.LookPath(name); return err == nil })
	if at < 0 {
		t.Skipf("skipped: the page is looked at in a browser, and none of %q is installed here", names)
	}
	theirIn, out, err := os.Pipe()
	oracle.OK(t, err)
	in, theirOut, err := os.Pipe()
	oracle.OK(t, err)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), names[at], // it ends when it is told, in Cleanup
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir="+profileFolder(t), "about:blank")
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	oracle.OK(t, cmd.Start())
	theirIn.Close()
	theirOut.Close()
	oracle.OK(t, in.SetReadDeadline(time.Now().Add(patience)))
	b := &browser{t: t, out: out, in: bufio.NewReader(in)}
	t.Cleanup(func() {
		b.send("Browser.close", nil)
		_ = cmd.Wait() // how it ends does not matter
		out.Close()
		in.Close()
	})
	target := b.call("Target.createTarget", map[string]any{"url": "about:blank"})["targetId"]
	b.session = b.call("Target.attachToTarget", map[string]any{"targetId": target, "flatten": true})["sessionId"].(string)
	b.call("Page.enable", nil)
	b.call("Runtime.enable", nil)
	b.call("Log.enable", nil)
	return b
}

// profileFolder is removed when the test is over. Processes that a browser has started may write to it for a moment after
// the browser itself has ended.
func profileFolder(t *testing.T) string {
	t.Helper()
	dir := oracle.Must(os.MkdirTemp("", "browser"))(t)
	t.Cleanup(func() {
		for range 100 {
			if os.RemoveAll(dir) == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Errorf("%s cannot be removed", dir)
	})
	return dir
}

func (b *browser) send(method string, parameters map[string]any) {
	b.last++
	message := map[string]any{"id": b.last, "method": method, "params": parameters}
	if parameters == nil {
		message["params"] = map[string]any{}
	}
	if b.session != "" && method != "Browser.close" {
		message["sessionId"] = b.session
	}
	text, err := json.Marshal(message)
	if err == nil {
		_, err = b.out.Write(append(text, 0))
	}
	if err != nil {
		b.t.Errorf("%s: %v", method, err)
	}
}

// call waits for the answer to a command. What the browser complains of meanwhile fails
// the test.
func (b *browser) call(method string, parameters map[string]any) map[string]any {
	b.t.Helper()
	b.send(method, parameters)
	for {
		text, err := b.in.ReadBytes(0)
		if err != nil {
			b.t.Fatalf("%s: %v", method, err)
		}
		var answer struct {
			ID     int
			Method string
			Params json.RawMessage
			Result map[string]any
			Error  map[string]any
		}
		oracle.OK(b.t, json.Unmarshal(text[:len(text)-1], &answer))
		switch {
		case answer.Method == "Runtime.exceptionThrown", answer.Method == "Log.entryAdded" && bytes.Contains(answer.Params, []byte(`"level":"error"`)):
			b.t.Errorf("the browser complains: %s", answer.Params)
		case answer.ID == b.last && answer.Error != nil:
			b.t.Fatalf("%s: %v", method, answer.Error)
		case answer.ID == b.last:
			return answer.Result
		}
	}
}

// evaluate is the value of an expression in the page.
func (b *browser) evaluate(expression string) any {
	b.t.Helper()
	answer := b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true})
	if wrong, ok := answer["exceptionDetails"]; ok {
		b.t.Fatalf("%s: %v", expression, wrong)
	}
	return answer["result"].(map[string]any)["value"]
}

// wait waits until an expression has a value.
func (b *browser) wait(expression string, want any) {
	b.t.Helper()
	for began := time.Now(); ; time.Sleep(pollEvery) {
		got := b.evaluate(expression)
		if got == want {
			return
		}
		if time.Since(began) > patience/4 {
			b.t.Fatalf("%s is %v, want %v", expression, got, want)
		}
	}
}

// text is an expression for the text of an element.
func text(id string) string {
	return fmt.Sprintf("document.getElementById(%q)?.textContent", id)
}

// look sets what the page is seen through.
func (b *browser) look(width, height int, scheme string) {
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false})
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}})
}

// inkOf is an expression for how many colours the canvas of a chart has.
func inkOf(section string) string {
	return fmt.Sprintf(`(() => {
		const canvas = document.querySelector("#%s canvas");
		if (!canvas) return 0;
		const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
		const seen = new Set();
		for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
		return seen.size;
	})()`, section)
}

// open serves the page of runs, and looks at it.
func (b *browser) open(dirs ...string) {
	listener := oracle.Must(net.Listen("tcp", "127.0.0.1:0"))(b.t)
	served := make(chan error)
	go func() { served <- watch.Serve(b.t.Context(), listener, dirs, testToken) }()
	b.t.Cleanup(func() {
		if err := <-served; err != nil {
			b.t.Error(err)
		}
	})
	b.call("Page.navigate", map[string]any{"url": fmt.Sprintf("http://%s/%s/", listener.Addr(), testToken)})
}

// TestRunsInBrowser draws two runs over each other, and the picture that one of them has.
func TestRunsInBrowser(t *testing.T) {
	b := openBrowser(t)
	first, finish := newRun(t)
	second, _ := newRun(t)
	write(t, first, lines(0, 300))
	write(t, second, lines(0, 100))
	finish(`{"status": "converged", "iterations": 299, "eval": {"accuracy@test": 0.9}}`)
	plots := filepath.Join(first, "plots")
	oracle.OK(t, errors.Join(os.Mkdir(plots, 0o777), os.WriteFile(filepath.Join(plots, "pictures-test.svg"),
		[]byte(`<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"/>`), 0o666)))
	b.look(1280, 900, "light")
	b.open(first, second)
	b.wait(text("label"), "running")
	b.wait(text("name"), "2 runs")
	b.wait(`[...document.querySelectorAll("#runs tbody tr")].map(r => r.cells[1].textContent + r.cells[2].textContent).join(" ")`, "converged299 running99")
	b.wait(`document.querySelectorAll("#gap .u-series").length`, 5.0) // the axis, and distance and bound of both
	b.wait(`document.querySelectorAll("#latest thead th").length`, 5.0)
	b.wait(`document.querySelector("#pictures img").naturalWidth`, 40.0)
	for _, width := range []int{1280, 390} {
		b.look(width, 900, "dark")
		b.wait(`document.querySelector("#gap canvas").getBoundingClientRect().width <= innerWidth`, true)
		if got := b.evaluate("document.documentElement.scrollWidth"); got != float64(width) {
			t.Errorf("the page is %v pixels wide, want %d", got, width)
		}
	}
}

// TestPageInBrowser follows a run from its start to its end in a real browser.
func TestPageInBrowser(t *testing.T) {
	b := openBrowser(t)
	dir, finish := newRun(t)
	b.look(1280, 900, "light")
	b.open(dir)
	b.wait(text("label"), "starting")
	b.wait(text("name"), `run of \u202e\x1bnight`)
	b.wait(text("iter"), "–")

	write(t, dir, lines(0, 300))
	b.wait(text("label"), "running")
	b.wait(text("iter"), "299")
	b.wait(text("pass"), "14.95")
	b.wait(text("objective"), digitsOf(t, 299, "objective"))
	b.wait(text("grad_norm"), digitsOf(t, 299, "grad_norm"))
	b.wait(`document.querySelectorAll("canvas").length`, 3.0)
	b.wait(`[...document.querySelectorAll("#latest tbody tr")].map(r => r.textContent).join(" ")`, "accuracy0.840.84 log loss1.10.97")
	b.wait(text("left"), "3 s to 13 s")
	b.wait(text("best-of"), "best accuracy")
	b.wait(text("best"), "0.84 dev, 0.84 test")

	// The other axis and measure.
	b.evaluate(`document.querySelector("input[value=wall_s]").click()`)
	b.wait(`document.querySelector("#gap .u-legend th").textContent`, "seconds")
	b.evaluate(`document.querySelector("input[value=pass]").click()`)
	b.wait(`document.querySelector("#gap .u-legend th").textContent`, "passes")

	write(t, dir, lines(300, 500)+`{"iter":500,"pa`)
	b.wait(text("iter"), "499")
	finish(`{"status": "pass_limit", "reason": "passes 25 ≥ --max-passes <b>25</b>", "iterations": 499, "passes": 25, "seconds": 3671.5, "objective": 1.25, "grad_norm": null, "suboptimality": 0.0025, "eval": {"accuracy@test": 0.9}}`)
	b.wait(text("label"), "pass limit")
	b.wait(text("text"), "passes 25 ≥ --max-passes <b>25</b>") // a text, and no markup
	b.wait(text("wall_s"), "1 h 01 min")
	b.wait(text("objective"), "1.25")
	b.wait(text("suboptimality"), "0.0025")

	for _, view := range []struct {
		name   string
		width  int
		scheme string
	}{{"wide", 1280, "light"}, {"narrow", 390, "light"}, {"wide-dark", 1280, "dark"}, {"narrow-dark", 390, "dark"}} {
		b.look(view.width, 900, view.scheme)
		b.wait(`document.querySelector("#gap canvas").getBoundingClientRect().width <= innerWidth`, true)
		if width := b.evaluate("document.documentElement.scrollWidth"); width != float64(view.width) {
			t.Errorf("%s: the page is %v pixels wide, want %d", view.name, width, view.width)
		}
		for _, section := range []string{"gap", "gradient", "evaluation"} {
			if inks := b.evaluate(inkOf(section)); inks.(float64) < 3 { // curve, grid and letters
				t.Errorf("%s: the chart of %s has %v colours", view.name, section, inks)
			}
		}
	}
}
