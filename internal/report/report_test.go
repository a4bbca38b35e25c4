package report

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"image"
	"image/png"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/figure"
)

// convergence and confusion are figures, for their being there only.
func convergence() figure.Figure {
	return figure.Curves{Title: "Distance", Series: []figure.Series{{Name: "BBPL", X: []float64{0, 1}, Y: []float64{1, 0.5}}}}
}

func confusion(n int) figure.Figure {
	f := figure.ConfusionMatrix{Title: "Confusion"}
	for i := range n {
		f.Names, f.Counts = append(f.Names, strconv.Itoa(i)), append(f.Counts, make([]int64, n))
		f.Counts[i][i] = 1
	}
	return f
}

// testReport has every kind of part.
func testReport(t *testing.T) *Report {
	t.Helper()
	var panel bytes.Buffer
	if err := png.Encode(&panel, image.NewGray(image.Rect(0, 0, 4, 3))); err != nil {
		t.Fatal(err)
	}
	r := &Report{Title: "Run <1> & \"more\"", Subtitle: "a subtitle"}
	r.Section("First")
	r.Paragraph("Text with <script>alert(1)</script>.")
	r.Callout(CalloutOK, "fine")
	r.Callout(CalloutError, "broken")
	r.Callout("odd", "strange")
	r.KeyValues([]KeyValue{{"seed", "17"}, {"<key>", "<value>"}})
	r.Fold("More <of it>")
	r.Code("blockbp train 'a b'")
	r.Unfold()
	r.Section("Second")
	r.Table([]string{"class", "IoU"}, [][]string{{"sky", "0.91"}, {"<tree>", "–"}, {"road"}, {"a", "1", "extra"}})
	r.Figure(convergence(), "Figure 1 <caption>")
	r.Figure(confusion(3), "")
	r.Image(panel.Bytes(), "Figure 3")
	return r
}

// write is the page of a report, written twice to the same bytes.
func write(t *testing.T, r *Report) string {
	t.Helper()
	var first, second bytes.Buffer
	if err := errors.Join(r.Write(&first), r.Write(&second)); err != nil {
		t.Fatal(err)
	}
	if first.String() != second.String() {
		t.Error("two pages differ")
	}
	return strings.ReplaceAll(first.String(), "&#43;", "+") // as a browser does
}

func TestReport(t *testing.T) {
	page := write(t, testReport(t))
	for _, want := range []string{
		"Run &lt;1&gt; &amp; &#34;more&#34;", "&lt;script&gt;", `<h2 id="section-2">Second</h2>`, `<a href="#section-2">Second</a>`,
		`class="callout ok"`, `class="callout error"`, `class="callout warn"`, `<th scope="col" class="number">IoU</th>`,
		`<td class="number">0.91</td>`, "<td>&lt;tree&gt;</td>", "<figcaption>Figure 1 &lt;caption&gt;</figcaption>",
		"<details><summary>More &lt;of it&gt;</summary>\n<pre><code>blockbp train &#39;a b&#39;</code></pre>\n</details>", "prefers-color-scheme: dark",
		"data:image/svg+xml;base64,", "data:image/png;base64,", "width=device-width", "@media print",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, bad := range []string{"http:", "https:", "//", "<script", "<link", "@import", "url(", "ZgotmplZ"} {
		at := strings.Index(withoutData(page), bad)
		if at >= 0 {
			t.Errorf("the page contains %q: …%.60s", bad, withoutData(page)[at:])
		}
	}
}

// dataPattern is an embedded image.
var dataPattern = regexp.MustCompile(`data:image/[a-z+]*;base64,[^"]*`)

// withoutData is a page without its embedded images.
func withoutData(page string) string { return dataPattern.ReplaceAllString(page, "") }

func TestReportEmbedsWholeFigures(t *testing.T) {
	page := write(t, testReport(t))
	found := dataPattern.FindAllString(page, -1)
	if len(found) != 3 {
		t.Fatalf("%d images", len(found))
	}
	var figure bytes.Buffer
	if err := convergence().SVG(&figure); err != nil {
		t.Fatal(err)
	}
	_, encoded, _ := strings.Cut(found[0], ",")
	svg, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || !bytes.Equal(svg, figure.Bytes()) {
		t.Errorf("the embedded figure is another one: %v", err)
	}
}

func TestReportIsWellFormed(t *testing.T) {
	page := write(t, testReport(t))
	decoder := xml.NewDecoder(strings.NewReader(page))
	decoder.Strict, decoder.AutoClose, decoder.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	depth := 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token.(type) {
		case xml.StartElement:
			depth++
		case xml.EndElement:
			depth--
		}
	}
	if depth != 0 {
		t.Errorf("%d elements are not closed", depth)
	}
}

func TestEmptyReport(t *testing.T) {
	page := write(t, &Report{})
	if strings.Contains(page, "<nav>") || !strings.Contains(page, "</html>") {
		t.Errorf("an empty report is %s", page)
	}
}

func TestReportErrors(t *testing.T) {
	r := &Report{Title: "T"}
	r.Figure(figure.Bars{Names: []string{"a"}, Series: []figure.BarSeries{{Name: "s"}}}, "the bars")
	r.Image([]byte("no image"), "the picture")
	var page bytes.Buffer
	err := r.Write(&page)
	if err == nil || page.Len() > 0 {
		t.Fatalf("a broken report was written: %v", err)
	}
	for _, want := range []string{"the bars", "the picture"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not mention %s", err, want)
		}
	}
}
