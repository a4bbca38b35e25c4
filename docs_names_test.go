package blockbp_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

var (
	inBackticks = regexp.MustCompile("`([^`\n]+)`")
	fencedBlock = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	// filePath is a source file with its folder, or a folder of internal/.
	filePath = regexp.MustCompile(`^(?:[\w.-]+/)+[\w.-]+\.(?:go|s|css|tmpl)$|^internal/[\w/]+$`)
	// goName is a package with an exported name of it, and perhaps a field or method of that.
	goName = regexp.MustCompile(`^([a-z]+)\.([A-Z]\w*)(?:\.([A-Z]\w*))?$`)
)

// TestNamesOfPages: the files and the names of Go in backticks in ARCHITECTURE.md and on the pages of
// docs/ exist.
func TestNamesOfPages(t *testing.T) {
	names := declaredNames(t)
	pages := 0
	for _, from := range []string{"docs", "ARCHITECTURE.md"} {
		oracle.OK(t, filepath.WalkDir(from, func(page string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(page) != ".md" {
				return err
			}
			pages++
			text, err := os.ReadFile(page)
			for _, match := range inBackticks.FindAllStringSubmatch(fencedBlock.ReplaceAllString(string(text), ""), -1) {
				checkName(t, page, match[1], names)
			}
			return err
		}))
	}
	if pages == 0 {
		t.Error("docs has no pages")
	}
}

// TestRoomsOfArchitecture: ARCHITECTURE.md has a row for every package, and none for others.
func TestRoomsOfArchitecture(t *testing.T) {
	text := oracle.Must(os.ReadFile("ARCHITECTURE.md"))(t)
	_, rooms, _ := strings.Cut(string(text), "\n## Rooms\n")
	rooms, _, _ = strings.Cut(rooms, "\n## ")
	listed := map[string]bool{}
	for line := range strings.Lines(rooms) {
		if column, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | "); ok {
			for _, match := range inBackticks.FindAllStringSubmatch(column, -1) {
				listed[match[1]] = true
			}
		}
	}
	for folder := range mayImport {
		name := strings.TrimPrefix(folder, "internal/")
		if folder == "." {
			name = path.Base(module)
		}
		if !listed[name] && folder != "cmd/blockbp" {
			t.Errorf("ARCHITECTURE.md does not say what is in %s: add it to the tables of rooms", folder)
		}
		delete(listed, name)
	}
	for name := range listed {
		t.Errorf("ARCHITECTURE.md has a room %q that is not in the table of imports_test.go", name)
	}
}

// checkName looks for the file or the name that a page has in backticks.
func checkName(t *testing.T, page, text string, names map[string]map[string]bool) {
	if filePath.MatchString(text) {
		if _, err := os.Stat(filepath.FromSlash(text)); err != nil {
			t.Errorf("%s names `%s`: %v", page, text, err)
		}
		return
	}
	parts := goName.FindStringSubmatch(text)
	if parts == nil || names[parts[1]] == nil {
		return // names of other kinds, and of other packages
	}
	for _, name := range []string{parts[2], strings.TrimSuffix(parts[2]+"."+parts[3], ".")} {
		if !names[parts[1]][name] {
			t.Errorf("%s names `%s`, but package %s has no %s", page, text, parts[1], name)
		}
	}
}

// declaredNames returns the exported names of every package, by the name of the
// package: Name, Type.Method and Type.Field.
func declaredNames(t *testing.T) map[string]map[string]bool {
	t.Helper()
	all := map[string]map[string]bool{}
	oracle.OK(t, filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skipFolder(name, entry)
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if all[file.Name.Name] == nil {
			all[file.Name.Name] = map[string]bool{}
		}
		for _, declaration := range file.Decls {
			addNames(all[file.Name.Name], declaration)
		}
		return nil
	}))
	return all
}

// addNames adds what a declaration declares.
func addNames(names map[string]bool, declaration ast.Decl) {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names[d.Name.Name] = true
		} else {
			names[typeName(d.Recv.List[0].Type)+"."+d.Name.Name] = true
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				for _, name := range s.Names {
					names[name.Name] = true
				}
			case *ast.TypeSpec:
				names[s.Name.Name] = true
				for _, name := range members(s.Type) {
					names[s.Name.Name+"."+name] = true
				}
			}
		}
	}
}

// members returns the fields of a struct, or the methods of an interface.
func members(of ast.Expr) []string {
	var list *ast.FieldList
	switch t := of.(type) {
	case *ast.StructType:
		list = t.Fields
	case *ast.InterfaceType:
		list = t.Methods
	default:
		return nil
	}
	var names []string
	for _, field := range list.List {
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return names
}

// typeName returns the name of a receiver's type.
func typeName(of ast.Expr) string {
	switch t := of.(type) {
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.IndexExpr:
		return typeName(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}
