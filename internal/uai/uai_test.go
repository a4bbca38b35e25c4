package uai_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/uai"
	"github.com/blockbp/blockbp/mrf"
)

const bayes = `BAYES
3
2 2 3
3
1 0
2 0 1
2 1	2

2
 0.436 0.564

4
 0.128 0.872
 0.920 0.080

6
 0.210 0.333 0.457
 0.811 0 0.189
`

func TestRead(t *testing.T) {
	for _, text := range []string{bayes, strings.Replace(bayes, "BAYES", "markov", 1), strings.ReplaceAll(bayes, "\n", "\r\n"), strings.Join(strings.Fields(bayes), "\t")} {
		n := oracle.Must(uai.Read(iotest.OneByteReader(strings.NewReader(text)), "model.uai"))(t)
		ln := math.Log
		want := &mrf.Network{Card: []int{2, 2, 3}, Factors: []mrf.Factor{
			{Scope: []int{0}, LogTable: []float64{ln(0.436), ln(0.564)}},
			{Scope: []int{0, 1}, LogTable: []float64{ln(0.128), ln(0.872), ln(0.920), ln(0.080)}},
			{Scope: []int{1, 2}, LogTable: []float64{ln(0.210), ln(0.333), ln(0.457), ln(0.811), math.Inf(-1), ln(0.189)}},
		}}
		oracle.Equal(t, *n, *want, "network")
	}
}

func TestReadConstantsAndNothing(t *testing.T) {
	n, err := uai.Read(strings.NewReader("MARKOV 0 2 0 0 1 2 1 3"), "x")
	if err != nil || len(n.Factors) != 2 || n.Factors[1].LogTable[0] != math.Log(3) {
		t.Errorf("network is %+v, %v", n, err)
	}
	if n, err = uai.Read(strings.NewReader("MARKOV\n0\n0"), "x"); err != nil || len(n.Card) != 0 {
		t.Errorf("network is %+v, %v", n, err)
	}
}

// A file's numbers may lie beyond float64's range.
func TestReadValuesOfAnyMagnitude(t *testing.T) {
	for text, want := range map[string]float64{
		"0": math.Inf(-1), "0.000": math.Inf(-1), "-0": math.Inf(-1), "0e999": math.Inf(-1), "+1": 0, "1e0": 0,
		"1e-400":                               -400 * math.Ln10,
		"12.5E+4000":                           math.Log(1.25) + 4001*math.Ln10,
		"0." + strings.Repeat("0", 499) + "2":  math.Log(2) - 500*math.Ln10,
		"4" + strings.Repeat("0", 350):         math.Log(4) + 350*math.Ln10,
		"5e-324":                               math.Log(5) - 324*math.Ln10,
		"0.00002e-390":                         math.Log(2) - 395*math.Ln10,
		"1.7976931348623157e308":               math.Log(math.MaxFloat64),
		"2.2250738585072014e-308":              math.Log(0x1p-1022),
		"7" + strings.Repeat("0", 400) + "e-1": math.Log(7) + 399*math.Ln10,
		"1" + strings.Repeat("0", 50) + "e-50": 0, "1.5e-100000000000000": math.Log(1.5) - 1e14*math.Ln10,
	} {
		n, err := uai.Read(strings.NewReader("MARKOV 1 1 1 1 0 1 "+text), "x")
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := n.Factors[0].LogTable[0]; got != want && !(math.Abs(got-want) <= 1e-15*math.Abs(want)) {
			t.Errorf("%q: log is %.17g, want %.17g", text, got, want)
		}
	}
}

// readValue reads one number as a value of a network.
func readValue(text string) (float64, error) {
	n, err := uai.Read(strings.NewReader("MARKOV 0 1 0 1 "+text), "x")
	if err != nil {
		return 0, err
	}
	return n.Factors[0].LogTable[0], nil
}

// A hostile file costs no more than its length: long numbers and huge exponents are refused or read at once.
func TestHostileNumbersAreCheap(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("9", 1024), "0." + strings.Repeat("0", 1022), "1e" + strings.Repeat("9", 1000), "1e-" + strings.Repeat("9", 1000),
		strings.Repeat("9", 1000) + "e-999999999999999999", "1e400000000000000", "1e-400000000000000", "1.0000000000000000000000000e400000000000000",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = readValue(text)
		runtime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 1<<20 { // the buffer of the reader takes 64 KiB
			t.Errorf("%.30q: reading it took %d bytes of memory", text, taken)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for _, c := range []struct{ text, message string }{
		{"", "bad.uai:1: the file ends where MARKOV or BAYES should be"},
		{strings.Replace(bayes, "0.872\n 0.920", "0.920\n 0.872", 1),
			"bad.uai:14: probabilities of variable 1, the last of factor 1, are 1.048 together"},
		{"\n\nISING", `bad.uai:3: a network starts with "ISING"`},
		{"MARKOV", "bad.uai:1: the file ends where the number of variables should be"},
		{"MARKOV -1", "bad.uai:1: the number of variables is -1"},
		{"MARKOV 1.5", `bad.uai:1: the number of variables is "1.5", want an integer`},
		{"MARKOV\n2\n2 0\n", "bad.uai:3: the number of states of variable 1 is 0, want 1 to"},
		{"MARKOV\n1\n-3\n", "bad.uai:3: the number of states of variable 0 is -3"},
		{"MARKOV\n1\n99999999\n", "bad.uai:3: the number of states of variable 0 is 99999999, want 1 to 1048576"},
		{"MARKOV\n100" + strings.Repeat(" 1048576", 100), "states together, at most 67108864 are supported"},
		{"MARKOV\n2000000000\n2 2", "bad.uai:3: the file ends where the number of states of variable 2 should be"},
		{"MARKOV 2 2 2 2000000000 1 0", "the number of variables of factor 1 should be"},
		{"MARKOV 2 2 2 1 3 0 1", "the number of variables of factor 0 is 3, want 0 to 2"},
		{"MARKOV 2 2 2\n1\n2 0 2\n", "bad.uai:3: a variable of factor 0 is 2, want 0 to 1"},
		{"MARKOV 2 2 2\n1\n2 1 1\n", "bad.uai:3: factor 0 names variable 1 twice"},
		{"MARKOV 2 2 2\n1\n2 0 1\n\n3\n1 1 1\n", "bad.uai:5: the table of factor 0 has 3 values, want 4 for its scope [0 1]"},
		{"MARKOV 2 1048576 1048576 1 2 0 1 1099511627776 1", "the file ends where a value of factor 0 should be"},
		{"MARKOV 4 1048576 1048576 1048576 1048576 1 4 0 1 2 3 5", "factor 0 joins 4 variables: its table would exceed"},
		{"MARKOV 1 2 1 1 0\n2\n1\n", "bad.uai:4: the file ends where a value of factor 0 should be"},
		{"MARKOV 1 2 1 1 0 2\n1\n-2", `bad.uai:3: value 1 of factor 0 is "-2", want a finite decimal number of at least 0`},
		{"MARKOV 1 2 1 1 0 2 1\n1_0", `bad.uai:2: value 1 of factor 0 is "1_0", want a finite decimal number`},
		{"MARKOV 1 2 1 1 0 2 0x10 1", `value 0 of factor 0 is "0x10"`},
		{"MARKOV 1 2 1 1 0 2 0x1p-2 1", `value 0 of factor 0 is "0x1p-2"`},
		{"MARKOV 0x1 2", `the number of variables is "0x1", want an integer`},
		{"MARKOV 1_0 2", `the number of variables is "1_0", want an integer`},
		{"MARKOV 1 2 1 1 0 2 1 nan", `value 1 of factor 0 is "nan"`},
		{"MARKOV 1 2 1 1 0 2 1 NaN", `value 1 of factor 0 is "NaN"`},
		{"MARKOV 1 2 1 1 0 2 inf 1", `value 0 of factor 0 is "inf"`},
		{"MARKOV 1 2 1 1 0 2 +Infinity 1", `value 0 of factor 0 is "+Infinity"`},
		{"MARKOV 1 2 1 1 0 2 -1e-999 1", `value 0 of factor 0 is "-1e-999"`},
		{"MARKOV 1 2 1 1 0 2 -1e999 1", `value 0 of factor 0 is "-1e999"`},
		{"MARKOV 1 2 1 1 0 2 1e999999999999999 1", `value 0 of factor 0 is "1e999999999999999", want 0 or a number`},
		{"MARKOV 1 2 1 1 0 2 1e-999999999999999 1", "whose logarithm is from"},
		{"MARKOV 1 2 1 1 0 2 1e99999999999999999999999 1", "whose logarithm is from"},
		{"MARKOV 1 2 1 1 0 2 0x1p-2000 1", `value 0 of factor 0 is "0x1p-2000"`},
		{"MARKOV 1 2 1 1 0 2 one 1", `value 0 of factor 0 is "one"`},
		{"MARKOV 1 2 1 1 0 2 1 1\n1", `bad.uai:2: "1" after the last table`},
		{"MARKOV 1 2 1 1 0 2 1 1\n" + strings.Repeat("1", 5000), "bad.uai:2: a word of more than 1024 bytes"},
	} {
		_, err := uai.Read(strings.NewReader(c.text), "bad.uai")
		var located *uai.Error
		if !errors.As(err, &located) || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%.60q: error is %v, want %q", c.text, err, c.message)
		}
	}
}

func TestReadPassesOnReadErrors(t *testing.T) {
	broken := errors.New("broken pipe")
	source := func() io.Reader {
		return io.MultiReader(strings.NewReader("MARKOV\n1\n2\n"), iotest.ErrReader(broken))
	}
	if _, err := uai.Read(source(), "a.uai"); !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "a.uai:4: ") {
		t.Errorf("error is %v", err)
	}
	if _, err := uai.ReadEvidence(iotest.ErrReader(broken), "a.evid", &mrf.Network{}); !errors.Is(err, broken) {
		t.Errorf("error is %v", err)
	}
}

// Every truncation is refused, and none takes memory on a header's word.
func TestTruncatedFilesAreRefused(t *testing.T) {
	whole := strings.TrimRight(bayes, "\n")
	for length := range len(whole) - len("0.189") {
		if _, err := uai.Read(strings.NewReader(whole[:length]), "cut.uai"); err == nil {
			t.Errorf("the first %d bytes were accepted", length)
		}
	}
}

func TestCompetitionFiles(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(oracle.SharedData(t, "uai"), "*.uai"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, path := range paths {
		n := oracle.Must(uai.ReadFile(path))(t)
		oracle.OK(t, n.Validate())
		oracle.Equal(t, len(oracle.Must(uai.ReadEvidenceFile(path+".evid", n))(t)), 0, "%s: evidence", path)
		checkRoundTrip(t, n)
	}
}

// checkRoundTrip writes and reads n: everything comes back, logarithms as precisely as float64 has the values.
func checkRoundTrip(t interface {
	oracle.TB
	Errorf(string, ...any)
}, n *mrf.Network) {
	again := oracle.Must(uai.Read(strings.NewReader(textOf(n)), "round trip"))(t)
	if difference := cmp.Diff(n.Card, again.Card); difference != "" && len(n.Card) > 0 {
		t.Errorf("states differ: %s", difference)
	}
	if len(n.Factors) != len(again.Factors) {
		t.Errorf("%d factors, want %d", len(again.Factors), len(n.Factors))
		return
	}
	for f := range n.Factors {
		oracle.Equal(t, n.Factors[f].Scope, again.Factors[f].Scope, "scope of factor %d", f)
		for i, want := range n.Factors[f].LogTable {
			if got := again.Factors[f].LogTable[i]; got != want && !(math.Abs(got-want) <= 1e-15*(1+math.Abs(want))) {
				t.Errorf("factor %d entry %d: %.17g came back as %.17g", f, i, want, got)
			}
		}
	}
}

// textOf is a network in a file, each value as a mantissa from 0.3 to 3.2 and a decimal exponent.
func textOf(n *mrf.Network) string {
	var b strings.Builder
	line := func(values ...any) { fmt.Fprintln(&b, values...) }
	ints := func(values []int) string { return strings.Trim(fmt.Sprint(values), "[]") }
	line("MARKOV")
	line(len(n.Card))
	line(ints(n.Card))
	line(len(n.Factors))
	for _, f := range n.Factors {
		line(len(f.Scope), ints(f.Scope))
	}
	for _, f := range n.Factors {
		line(len(f.LogTable))
		for _, log := range f.LogTable {
			if math.IsInf(log, -1) {
				line(0)
				continue
			}
			tens := math.Round(log / math.Ln10)
			line(fmt.Sprintf("%.17ge%.0f", math.Exp(log-tens*math.Ln10), tens))
		}
	}
	return b.String()
}

// table returns a network of one variable with the given factor.
func table(values ...float64) *mrf.Network {
	return &mrf.Network{Card: []int{len(values)}, Factors: []mrf.Factor{{Scope: []int{0}, LogTable: values}}}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scale := rapid.SampledFrom([]float64{1e-3, 1, 10, 800, 1e4, 1e6, uai.MaxLogValue}).Draw(t, "scale")
		values := rapid.SliceOfN(rapid.Float64Range(-scale, scale), 11, 11).Draw(t, "values")
		// Any bits: all magnitudes from 5e-324 up are as likely as each other.
		bits := rapid.Uint64Range(0, math.Float64bits(uai.MaxLogValue)).Draw(t, "bits")
		values = append(values, math.Copysign(math.Float64frombits(bits), rapid.Float64Range(-1, 1).Draw(t, "sign")))
		values[rapid.IntRange(0, 10).Draw(t, "zero")] = math.Inf(-1)
		checkRoundTrip(t, &mrf.Network{Card: []int{2, 6}, Factors: []mrf.Factor{
			{Scope: []int{1, 0}, LogTable: values}, {LogTable: values[:1]}, {Scope: []int{0}, LogTable: values[3:5]}}})
	})
}

// The logarithms around every boundary of the writer: 0, the range of float64,
// the ends of mantissas, what is refused; and one that came back wrong once.
func TestRoundTripOfSpecialValues(t *testing.T) {
	values := []float64{math.Inf(-1), -1.7187816289512907}
	for _, x := range []float64{0, 0x1p-1022, 0x1p-110, 1e-20, 0x1p-53, 0x1p-52, 1, math.Ln2, math.Ln10 / 2, math.Ln10, 3 * math.Ln10 / 2,
		math.Log(0.3), math.Log(3), 709.46, math.Log(math.MaxFloat64), -math.Log(0x1p-1022), -math.Log(5e-324), 1e6, uai.MaxLogValue} {
		for _, near := range []float64{x, math.Nextafter(x, 0), math.Nextafter(x, 1), math.Nextafter(x, math.Inf(1))} {
			if near <= uai.MaxLogValue {
				values = append(values, near, -near)
			}
		}
	}
	checkRoundTrip(t, table(values...))
}

func TestWritePassesOnWriteErrors(t *testing.T) {
	if err := uai.WriteMAR(full{}, [][]float64{{1}}); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("error is %v", err)
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// TestByteOrderMark: a file of an editor that begins with one is read as without.
func TestByteOrderMark(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.uai")
	oracle.OK(t, os.WriteFile(path, []byte("\ufeffMARKOV\n1\n2\n1\n1 0\n2\n1 2\n"), 0o666))
	oracle.Equal(t, len(oracle.Must(uai.ReadFile(path))(t).Card), 1, "variables")
}

func TestReadEvidence(t *testing.T) {
	n := &mrf.Network{Card: []int{3, 3, 3, 3, 9}}
	for _, c := range []struct {
		name, text string
		want       map[int]int
	}{
		{"nothing", "0\n", map[int]int{}},
		{"old, a word a line", "2\n0\n1\n3\n2\n", map[int]int{0: 1, 3: 2}},
		{"old", "2 0 1 3 2\n", map[int]int{0: 1, 3: 2}},
		{"old, one variable", "1 4 8", map[int]int{4: 8}},
		{"old, over several lines", "2\n0 1\n3 2\n", map[int]int{0: 1, 3: 2}},
		{"new", "1\n2 0 1 3 2\n", map[int]int{0: 1, 3: 2}},
		{"new, nothing observed", "1\n0\n", map[int]int{}},
		{"new, in one line", "1 2 0 1 3 2", map[int]int{0: 1, 3: 2}},
	} {
		got, err := uai.ReadEvidence(strings.NewReader(c.text), "x.evid", n)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if difference := cmp.Diff(c.want, got); difference != "" {
			t.Errorf("%s: %s", c.name, difference)
		}
	}
}

func TestReadEvidenceRefuses(t *testing.T) {
	n := &mrf.Network{Card: []int{3, 3}}
	for _, c := range []struct{ text, message string }{
		{"", "x.evid:1: the file is empty"},
		{"1 1", "x.evid:1: evidence is 2 words beginning with 1"},
		{"3\n0 1\n0 2\n", "x.evid:3: evidence is 5 words beginning with 3"},
		{"1 0 -1", `x.evid:1: evidence has "-1", want a number from 0 on`},
		{"1 0 99999999999", "variable 0 has state 99999999999"},
		{"1 0x0 1", `x.evid:1: evidence has "0x0"`},
		{"1 1_0 1", `evidence has "1_0"`},
		{"1 zero 1", `evidence has "zero"`},
		{"2\n1 0 1\n1 1 0\n", "of several samples give one"},
		{"2\n1 2 0\n0\n", "of several samples give one"}, // 1 in state 2 and 0 in state 0, but for the lines
		{"1\n1 2 0\n", "x.evid:2: variable 2 does not exist: the network has 2 variables"},
		{"2\n0 1\n1 3\n", "x.evid:3: variable 1 has state 3, want 0 to 2"},
		{"2 0 1 0 1", "x.evid:1: variable 0 is observed twice"}, {"2147483647 2147483647 1", "want so many pairs"},
	} {
		_, err := uai.ReadEvidence(strings.NewReader(c.text), "x.evid", n)
		var located *uai.Error
		if !errors.As(err, &located) || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%q: error is %v, want %q", c.text, err, c.message)
		}
	}
}

func TestWriteResults(t *testing.T) {
	var out bytes.Buffer
	for _, write := range []error{
		uai.WritePR(&out, 5*math.Ln10), uai.WritePR(&out, math.Inf(-1)),
		uai.WriteMAR(&out, [][]float64{{0.25, 0.75}, {1}}), uai.WriteMAR(&out, nil),
		uai.WriteMPE(&out, []int{3, 0}), uai.WriteMPE(&out, nil),
	} {
		if write != nil {
			t.Fatal(write)
		}
	}
	want := "PR\n5\nPR\n-inf\nMAR\n2 2 0.25 0.75 1 1\nMAR\n0\nMPE\n2 3 0\nMPE\n0\n"
	oracle.Equal(t, out.String(), want, "text")
}
