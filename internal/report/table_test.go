package report

import "testing"

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
	if got := table.Text(); got != text {
		t.Errorf("got\n%s\nwant\n%s", got, text)
	}
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
		if got := c.table.Text(); got != c.text {
			t.Errorf("got\n%s\nwant\n%s", got, c.text)
		}
	}
}

func TestIsNumber(t *testing.T) {
	for _, cell := range []string{
		"0", "-1", "−3.5", "+5.0 %", "1e-7", ".5", "1,234,567", "1 240", "12.3 ms", "2.1×", "≤ 5", "0.81 ± 0.02", "1.2e-3 ± 4e-5 s", "97.5%", "3.2 GiB",
	} {
		if !isNumber(cell) {
			t.Errorf("%q is not taken for a number", cell)
		}
	}
	for _, cell := range []string{"", "-", "nan", "sky", "e5", "2024-01-01", "40 × 40", "v1.2.3", "1.2.3", "image 7", "7 images of many", "%", "±"} {
		if isNumber(cell) {
			t.Errorf("%q is taken for a number", cell)
		}
	}
}
