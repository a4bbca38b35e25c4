package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// simple is a figure, for its being there only.
func simple() Curves {
	return Curves{Title: "Distance", Series: []Series{{Name: "<b>BBPL", X: []float64{0, 1}, Y: []float64{1, 0.5}}}}
}

// testReport has every kind of part.
func testReport(t *testing.T) *Report {
	t.Helper()
	r := &Report{Title: "Run <1> & \"more\"", Subtitle: "a subtitle"}
	r.Section("First")
	r.Paragraph("Text with <script>alert(1)</script>.")
	r.Callout(CalloutOK, "fine")
	r.Callout(CalloutError, "broken")
	r.Callout(CalloutWarn, "strange")
	r.Fold("More <of it>")
	r.Code("blockbp train 'a b'")
	r.Unfold()
	r.Section("Second")
	r.Table(Table{[]string{"class", "IoU"}, [][]string{{"sky", "0.91"}, {"<tree>", "–"}, {"road"}, {"a", "1", "extra"}}})
	r.Table(Table{[]string{"measure", "model"}, [][]string{{"accuracy", "97.50 %"}, {"which is", "a bound"}}})
	r.Figure(simple(), "Figure 1 <caption>")
	r.Figure(simple(), "")
	r.Confusion([]string{"in", "<out>"}, [][]int64{{3, 1}, {0, 0}})
	r.Figure(Panel{Names: []string{"in", "<out>"}, Rows: []PanelRow{
		{Title: "<one>", Labels: []PixelLabels{{"truth", []int32{0, 1, -1}}}, W: 3, H: 1}}}, "Panel <caption>")
	return r
}

// write is the page of a report, written twice to the same bytes.
func write(t *testing.T, r *Report) string {
	t.Helper()
	var first, second bytes.Buffer
	oracle.OK(t, errors.Join(r.Write(&first), r.Write(&second)))
	oracle.Equal(t, first.String(), second.String(), "a second page")
	return first.String()
}

func TestReport(t *testing.T) {
	page := write(t, testReport(t))
	oracle.Contains(t, page, "Run &lt;1&gt; &amp; &#34;more&#34;", "&lt;script&gt;", `<h2 id="section-2">Second</h2>`,
		`<a href="#section-2">Second</a>`, `class="callout ok"`, `class="callout error"`, `class="callout warn"`,
		`<th scope="col" class="number">IoU</th>`, `<td class="number">0.91</td>`, "<td>&lt;tree&gt;</td>",
		"<figcaption>Figure 1 &lt;caption&gt;</figcaption>", "prefers-color-scheme: dark",
		"<details><summary>More &lt;of it&gt;</summary>\n<pre><code>blockbp train &#39;a b&#39;</code></pre>\n</details>",
		"<figcaption>Panel &lt;caption&gt;</figcaption>", "data:image/png;base64,", "<title>Distance</title>",
		"&lt;b&gt;BBPL", "stroke:var(--one)", `<td class="number share" style="--share:97.50">97.50 %</td>`,
		`<td class="much" style="--share:75.00">75.0</td>`, `<td style="--share:25.00">25.0</td>`, "<td style=\"\">–</td>",
		`<th scope="col"><span>&lt;out&gt;</span></th>`, "Panel &lt;caption&gt;", "width=device-width", "@media print",
		"<title>Run &lt;1&gt; &amp; &#34;more&#34; · a subtitle</title>")
	for _, bad := range []string{"http:", "https:", "//", "<script", "<link", "@import", "url("} {
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
		oracle.OK(t, err)
		switch token.(type) {
		case xml.StartElement:
			depth++
		case xml.EndElement:
			depth--
		}
	}
	oracle.Equal(t, depth, 0, "elements that are not closed")
}

func TestEmptyReport(t *testing.T) {
	page := write(t, &Report{})
	if strings.Contains(page, "<nav>") || !strings.Contains(page, "</html>") {
		t.Errorf("an empty report is %s", page)
	}
}

func TestTable(t *testing.T) {
	table := Table{
		Headers: []string{"class", "IoU", "note"},
		Rows:    [][]string{{"sky", "0.91", "a|b"}, {"Straße", "–"}, {"空", "12.5 %", "two\nlines"}},
	}
	const text = "class      IoU  note\n" +
		"──────  ──────  ──────────\n" +
		"sky       0.91  a|b\n" +
		"Straße       –\n" +
		"空      12.5 %  two\\nlines"
	oracle.Equal(t, table.Text(), text, "text")
}

func TestTableSmall(t *testing.T) {
	for _, c := range []struct {
		table Table
		text  string
	}{
		{Table{Headers: []string{"n"}}, "n\n─"},
		{Table{Headers: []string{"n"}, Rows: [][]string{{"1"}}}, "n\n─\n1"},
		{Table{Headers: []string{"a"}, Rows: [][]string{{"x", "2"}}}, "a\n─  ─\nx  2"},
	} {
		oracle.Equal(t, c.table.Text(), c.text, "text")
	}
}
