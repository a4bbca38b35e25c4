package blockbp_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

var updateAPI = flag.Bool("update", false, "rewrite api.txt from the source")

const (
	mostNames    = 150 // exported names of all public packages, methods and fields not counted
	mostAtDoor   = 30  // of package blockbp
	mostPackages = 8
)

// TestAPI holds the exported names of all public packages against api.txt, one a line
// with its signature: a change of what users build on is seen in a review, or it is a
// mistake. After a change that is meant: go test . -run API -update.
func TestAPI(t *testing.T) {
	var lines []string
	packages := 0
	for _, folder := range append([]string{"."}, public...) {
		packages++
		names := exported(t, folder)
		if folder == "." && len(names) > mostAtDoor {
			t.Errorf("the door has %d names, want at most %d", len(names), mostAtDoor)
		}
		lines = append(lines, names...)
	}
	got := strings.Join(lines, "\n") + "\n"
	if n := len(lines) - strings.Count(got, "\tfunc ("); packages > mostPackages || n > mostNames {
		t.Errorf("%d names in %d packages, want at most %d in %d", n, packages, mostNames, mostPackages)
	}
	if *updateAPI {
		oracle.OK(t, os.WriteFile("api.txt", []byte(got), 0o644))
	}
	text := oracle.Must(os.ReadFile("api.txt"))(t)
	want := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for _, line := range lines {
		if !slices.Contains(want, line) {
			t.Errorf("not in api.txt: %s", line)
		}
	}
	for _, line := range want {
		if !slices.Contains(lines, line) {
			t.Errorf("only in api.txt: %s", line)
		}
	}
	if t.Failed() {
		t.Log("where the change is meant: go test . -run API -update, and say in CHANGELOG.md how to move")
	}
}

// exported returns the exported names of the package in a folder, sorted, each with its declaration on one line.
func exported(t *testing.T, folder string) (lines []string) {
	t.Helper()
	files := oracle.Must(filepath.Glob(filepath.Join(folder, "*.go")))(t)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file := oracle.Must(parser.ParseFile(set, name, nil, parser.SkipObjectResolution))(t)
		hidden := internalNames(file)
		ast.FileExports(file)
		for _, decl := range file.Decls {
			for _, one := range declarations(decl) {
				if _, alias := one.node.(*ast.GenDecl); alias || one.name != "" {
					noInternal(t, set, one.node, hidden)
				}
				lines = append(lines, fmt.Sprintf("%s.%s\t%s", file.Name.Name, one.name, onOneLine(t, set, one.node)))
			}
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines) // the same name may be declared for several systems
}

// declared is one exported name.
type declared struct {
	name string // T.Method for methods
	node ast.Node
}

// declarations splits a declaration into one for each of its names.
func declarations(decl ast.Decl) (all []declared) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		d.Body, d.Doc = nil, nil
		name := d.Name.Name
		if d.Recv != nil {
			of := d.Recv.List[0].Type
			if star, ok := of.(*ast.StarExpr); ok {
				of = star.X
			}
			base, ok := of.(*ast.Ident)
			if !ok || !base.IsExported() {
				return nil
			}
			name = base.Name + "." + name
		}
		return []declared{{name, d}}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			one := &ast.GenDecl{Tok: d.Tok, Specs: []ast.Spec{spec}}
			switch s := spec.(type) {
			case *ast.TypeSpec:
				s.Doc, s.Comment = nil, nil
				all = append(all, declared{s.Name.Name, one})
			case *ast.ValueSpec:
				for i, name := range s.Names {
					if !name.IsExported() {
						continue
					}
					value := &ast.ValueSpec{Names: []*ast.Ident{name}, Type: s.Type}
					if d.Tok == token.CONST && i < len(s.Values) {
						value.Values = s.Values[i : i+1]
					}
					all = append(all, declared{name.Name, &ast.GenDecl{Tok: d.Tok, Specs: []ast.Spec{value}}})
				}
			}
		}
	}
	return all
}

// internalNames returns the names by which a file calls internal packages.
func internalNames(file *ast.File) map[string]bool {
	names := map[string]bool{}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil || !strings.Contains(imported, "/internal/") {
			continue
		}
		name := path.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = true
	}
	return names
}

// noInternal fails where what is exported mentions what users cannot name.
func noInternal(t *testing.T, set *token.FileSet, node ast.Node, hidden map[string]bool) {
	t.Helper()
	ast.Inspect(node, func(n ast.Node) bool {
		if value, ok := n.(*ast.ValueSpec); ok { // its value is nobody's business
			n = value.Type
			return n != nil
		}
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && hidden[x.Name] {
				t.Errorf("%s: %s.%s is exported and of an internal package", set.Position(s.Pos()), x.Name, s.Sel.Name)
			}
		}
		return true
	})
}

// onOneLine prints a declaration without comments.
func onOneLine(t *testing.T, set *token.FileSet, node ast.Node) string {
	t.Helper()
	ast.Inspect(node, func(n ast.Node) bool {
		if f, ok := n.(*ast.Field); ok {
			f.Doc, f.Comment, f.Tag = nil, nil, nil
		}
		return true
	})
	var out bytes.Buffer
	oracle.OK(t, printer.Fprint(&out, set, node))
	var words []string
	for line := range strings.Lines(out.String()) {
		words = append(words, strings.Join(strings.Fields(line), " "))
	}
	text := strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" || strings.HasPrefix(w, "//") }), "; ")
	return strings.NewReplacer("{; ", "{ ", "; }", " }", "(; ", "(", ",; )", ")").Replace(text)
}
