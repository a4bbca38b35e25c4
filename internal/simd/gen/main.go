// Command simdgen writes the assembly of internal/simd, or of lab/ceilings,
// and its Go declarations. Run it through go generate in that folder.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	dir := flag.String("dir", ".", "folder to write NAME_amd64.s and NAME_amd64.go to")
	pkg := flag.String("package", "simd", "package to write: simd or ceilings")
	flag.Parse()
	if err := run(*pkg, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "simdgen:", err)
		os.Exit(1)
	}
}

// files are what is written of each package, NAME_amd64.s and NAME_amd64.go, and the
// kernels in it: several files, as one would be too large to look at.
var files = map[string][]struct {
	name string
	emit func(g *generator)
}{
	"simd": {
		{"prefetchrows", (*generator).prefetchRows},
		{"kernels512", func(g *generator) { vectors{g, 8}.kernels() }},
		{"kernels256", func(g *generator) { vectors{g, 4}.kernels() }},
	},
	"ceilings": {{"ceilings", (*generator).ceilings}},
}

// kernels emits all kernels of a width.
func (v vectors) kernels() {
	v.elementwise()
	v.matrix()
	v.batch()
	v.edgeBeliefs()
	v.pairMessages()
	v.pairBeliefs()
	v.consistency()
	if v.lanes == 4 { // both take them
		v.extrapolate()
		v.addScaled()
	}
}

func run(pkg, dir string) error {
	list, ok := files[pkg]
	if !ok {
		return fmt.Errorf("-package %s: want simd or ceilings", pkg)
	}
	for _, f := range list {
		if err := write(pkg, filepath.Join(dir, f.name+"_amd64"), f.emit); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}

// long matches declarations that have no room on a line.
var long = regexp.MustCompile(`(?m)^(func |\t).{112,}$`)

// broken is a long line in two, behind the last comma for which the first has room.
func broken(line string) string {
	at := strings.LastIndex(line[:112], ", ") + 1
	return line[:at] + "\n\t" + line[at+1:]
}

// write writes one pair of files, in which long declarations are broken.
func write(pkg, path string, emit func(g *generator)) error {
	g := &generator{Context: build.NewContext(), at: map[string]int{}}
	g.ConstraintExpr("!purego")
	emit(g)
	g.writePool()
	file, err := g.Result()
	if err != nil {
		return err
	}
	if err := pass.Compile.Execute(file); err != nil {
		return err
	}
	config := printer.Config{Name: "internal/simd/gen", Pkg: pkg}
	for extension, p := range map[string]printer.Printer{".s": printer.NewGoAsm(config), ".go": printer.NewStubs(config)} {
		printed, err := p.Print(file)
		if err != nil {
			return err
		}
		text := string(printed)
		for long.MatchString(text) && extension == ".go" {
			text = long.ReplaceAllStringFunc(text, broken)
		}
		if err := os.WriteFile(path+extension, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generator adds to avo what the kernels share. Operands are in Go's order: the destination last, so VSUBPD(b, a,
// dst) is dst = a − b, VFMADD231PD(x, y, acc) is acc += x·y and VFMADD213PD(c, b, a) is a = a·b + c.
type generator struct {
	*build.Context
	used    []string                  // constants that kernels asked for, in that order
	at      map[string]int            // where in the file's pool each of them is
	size    int                       // of the pool, in bytes
	hoisted map[string]reg.VecVirtual // constants that the kernel keeps
	labels  int
}

// label returns a name that is new in the file.
func (g *generator) label(name string) string {
	g.labels++
	return fmt.Sprintf("%s%d", name, g.labels)
}

// function begins a kernel that does not let its arguments escape.
func (g *generator) function(name, signature, doc string) {
	g.Function(name)
	g.Doc(name + " " + doc)
	g.Pragma("noescape")
	g.SignatureExpr(signature)
}

// end returns to Go, which wants the upper halves of the registers clean.
func (g *generator) end() {
	g.hoisted = nil
	g.VZEROUPPER()
	g.RET()
}

func (g *generator) base(name string) reg.Register {
	return g.Load(g.Param(name).Base(), g.GP64())
}

func (g *generator) length(name string) reg.Register {
	return g.Load(g.Param(name).Len(), g.GP64())
}

// zero returns a general register that is 0.
func (g *generator) zero() reg.Register {
	r := g.GP64()
	g.XORQ(r, r)
	return r
}

// at64 is base[index] of 8-byte entries, plus an offset in bytes.
func at64(base, index reg.Register, offset int) operand.Mem {
	return operand.Mem{Base: base, Index: index, Scale: 8, Disp: offset}
}

// bytes is base + index bytes + an offset.
func bytes(base, index reg.Register, offset int) operand.Mem {
	return operand.Mem{Base: base, Index: index, Scale: 1, Disp: offset}
}

func label(name string) operand.LabelRef { return operand.LabelRef(name) }
