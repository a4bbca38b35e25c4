package printable_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/printable"
)

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "",
		"Größe ‖θ‖² “a” 漢字 😀": "Größe ‖θ‖² “a” 漢字 😀",
		"\x1b[31mlabels":      `\x1b[31mlabels`,
		"\x1b]0;pwned\a":      `\x1b]0;pwned\a`,
		"a\nb\tc\rd\x7f\x00":  `a\nb\tc\rd\x7f\x00`,
		"\u009b31m":           `\u009b31m`,
		"\u202egpj.exe":       `\u202egpj.exe`,
		"a\u200bb\ufeff":      `a\u200bb\ufeff`,
		"bad \xff\xc3 bytes":  `bad \xff\xc3 bytes`,
		"\ufffd":              "\ufffd",
		`as it is: \x1b`:      `as it is: \x1b`,
	} {
		oracle.Equal(t, printable.Line(text), want, "Line(%q)", text)
	}
	oracle.Equal(t, printable.Text("a\tb\n\x1bc\r\n"), "a\tb\n\\x1bc\\r\n", "Text gives")
	oracle.Equal(t, printable.Word("a\tb's\n\\.csv"), `$'a\tb\'s\n\\.csv'`, "a word with a tab is")
	oracle.Equal(t, printable.Word(`b's\.csv`), `'b'\''s\.csv'`, "a word without is")
	var b bytes.Buffer
	if n, err := (printable.Writer{To: &b}).Write([]byte("x\x1b\n")); n != 3 || err != nil || b.String() != "x\\x1b\n" {
		t.Errorf("%d bytes, %v: %q", n, err, &b)
	}
}

// FuzzPrintable: whatever comes in, nothing that is not printed goes out, JSON means what
// it meant, and what is safe is left alone.
func FuzzPrintable(f *testing.F) {
	for _, text := range []string{"plain", "\x1b[31m", "a\nb", "\u009b\u202e\u200d\U000e0001", "\xff\xfe", "😀\U000f0000"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line := printable.Line(text)
		if !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return unicode.Is(unicode.C, r) || unicode.Is(unicode.Z, r) && r != ' ' }) {
			t.Fatalf("Line(%q) = %q", text, line)
		}
		oracle.MustEqual(t, printable.Line(line), line, "Line(%q), escaped again", text)
		before := oracle.Must(json.Marshal(text))(t)
		after := oracle.Must(printable.Encode(text, ""))(t)
		oracle.MustEqual(t, printable.Line(string(after)), string(after), "JSON of %q", text)
		var was, is string
		if json.Unmarshal(before, &was) != nil || json.Unmarshal(after, &is) != nil || was != is {
			t.Fatalf("JSON of %q is %q, which means %q", text, after, is)
		}
	})
}

// TestOneEncoder: whatever writes JSON does so by this package; descriptions of data and tensors have their own encoders.
func TestOneEncoder(t *testing.T) {
	const root = "../.."
	var found []string
	oracle.OK(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "testdata" || d.Name() == "lab") {
			return cmp.Or(err, fs.SkipDir)
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "json.NewEncoder(") || strings.Contains(string(text), "json.MarshalIndent(") {
			found = append(found, filepath.ToSlash(strings.TrimPrefix(path, root+"/")))
		}
		return err
	}))
	want := []string{"dataset/manifest.go", "internal/printable/encode.go", "internal/safetensors/write.go"}
	oracle.Equal(t, found, want, "JSON is encoded here; use printable.Encode")
}
