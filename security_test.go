package blockbp_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

var (
	// reachesOut are the names, behind the paths of their packages, that load a library, start or
	// look for a program, connect or listen.
	reachesOut = regexp.MustCompile(`^(` + strings.Join([]string{
		`github\.com/ebitengine/purego\.Dlopen`,
		`(plugin|C|crypto/tls|log/syslog|net/http/httputil|net/rpc|net/rpc/jsonrpc|net/smtp)\..*`,
		`os/exec\.(Cmd|Command\w*|LookPath)`,
		`os\.StartProcess`,
		`net\.((Default|Dial|File|Listen[A-Z]|Lookup|Resolve)\w*|Listen)`,
		`net/http\.(Client|Default\w*|Get|Head|Listen\w*|Post\w*|Proxy\w*|Serve|ServeTLS|Server|Transport)`,
		`(syscall|golang\.org/x/sys/\w+)\.\w*(Accept|Bind|Connect|DLL|Exec|Library|Listen|Send|Socket)\w*`,
		`(syscall|golang\.org/x/sys/\w+)\.(Create|Start)Process\w*`,
		`(syscall|golang\.org/x/sys/\w+)\.SYS_(ACCEPT|BIND|CONNECT|EXEC|LISTEN|SEND|SOCKET)\w*`,
	}, "|") + `)$`)
	// directive makes a name of another package, or of a library, one of this.
	directive     = regexp.MustCompile(`^//go:(linkname|cgo_import_dynamic)\b`)
	directiveName = regexp.MustCompile(`^go:`)
	// pythonReachesOut are such names of Python, and imports that would hide them.
	pythonReachesOut = regexp.MustCompile(`\bos\.(?:exec|fork|popen|posix_spawn|spawn|startfile|system)\w*` +
		`|\b(?:from )?(?:asyncio|cffi|ctypes|ftplib|http|multiprocessing|requests|smtplib|socket|socketserver` +
		`|ssl|subprocess|urllib|webbrowser|xmlrpc)(?:\.(?:Popen|\w*DLL|[a-z]\w*)| import)`)
	securityRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (.+?) \\| .+ \\|$")
)

// TestSecurityPage: SECURITY.md names every place of the program, of the modules in it, and of the
// Python package that loads a library, starts a program, connects or listens, and no other.
func TestSecurityPage(t *testing.T) {
	oracle.Long(t)
	page := oracle.Must(os.ReadFile("SECURITY.md"))(t)
	said := map[string]string{}
	for _, row := range securityRow.FindAllStringSubmatch(string(page), -1) {
		said[row[1]] = row[2]
	}
	found := reachesOfModules(t)
	oracle.OK(t, filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		slashed := filepath.ToSlash(name)
		switch {
		case entry.IsDir():
			return skipFolder(name, entry)
		case strings.HasSuffix(name, "_test.go"):
			// no part of the program
		case strings.HasSuffix(name, ".go"):
			found[slashed] = reaches(t, name)
		case strings.HasSuffix(name, ".py") && strings.HasPrefix(slashed, "python/src/"):
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			found[slashed] = pythonReachesOut.FindAllString(string(text), -1)
		}
		return nil
	}))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		does := strings.Join(slices.Compact(slices.Sorted(slices.Values(found[name]))), "`, `")
		oracle.Equal(t, does, strings.Trim(said[name], "`"),
			"%s uses %q, and SECURITY.md says %q: say there what for, and who decides", name, does, said[name])
	}
	for name := range said {
		if _, there := found[name]; !there {
			t.Errorf("SECURITY.md says that %s uses %s, and there is none", name, said[name])
		}
	}
}

// reachesOfModules returns the names that the modules in the program use, by their paths, on any
// system of a release. How purego and golang.org/x/sys call the system is their own affair.
func reachesOfModules(t *testing.T) map[string][]string {
	t.Helper()
	const files = "{{if .Module}}{{$p := .}}{{range .GoFiles}}{{$p.Module.Path}}\t{{$p.Dir}}/{{.}}\n{{end}}{{end}}"
	lines := map[string]bool{}
	for _, list := range onEveryPlatform(t, "-f", files) {
		for line := range strings.Lines(list) {
			lines[strings.TrimSpace(line)] = true
		}
	}
	found := map[string][]string{}
	for line := range lines {
		of, file, _ := strings.Cut(line, "\t")
		if of == module {
			continue
		}
		found[of] = slices.Concat(found[of], slices.DeleteFunc(reaches(t, file), directiveName.MatchString))
	}
	return found
}

// onEveryPlatform returns what go list says of all packages of the command, for every system that has a release.
func onEveryPlatform(t *testing.T, arguments ...string) map[string]string {
	t.Helper()
	makefile := oracle.Must(os.ReadFile("Makefile"))(t)
	platforms := regexp.MustCompile(`(?m)^PLATFORMS := (.*)$`).FindStringSubmatch(string(makefile))
	if platforms == nil {
		t.Fatal("the Makefile does not say PLATFORMS")
	}
	said := map[string]string{}
	for platform := range strings.FieldsSeq(platforms[1]) {
		system, processor, _ := strings.Cut(platform, "/")
		words := slices.Concat([]string{"list", "-deps"}, arguments, []string{"./cmd/blockbp"})
		list := exec.CommandContext(t.Context(), "go", words...)
		list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor)
		var complaint strings.Builder
		list.Stderr = &complaint
		out, err := list.Output()
		if err != nil {
			t.Fatalf("%s: %v: %s", platform, err, &complaint)
		}
		said[platform] = string(out)
	}
	return said
}

// TestReaches: the test above sees what it looks for.
func TestReaches(t *testing.T) {
	source := "package p\n\nimport (\n\t\"net\"\n\tweb \"net/http\"\n\t\"syscall\"\n)\n\n" +
		"//go:linkname other runtime.other\n\nvar _, _, _, _ = net.Dial, web.DefaultClient, web.StatusOK, net.IP{}\n" +
		"var _ = syscall.Connect\n"
	name := filepath.Join(t.TempDir(), "p.go")
	oracle.OK(t, os.WriteFile(name, []byte(source), 0o644))
	const wanted = "go:linkname net.Dial http.DefaultClient syscall.Connect"
	oracle.Equal(t, strings.Join(reaches(t, name), " "), wanted, "found")
	python := "import ctypes\nfrom socket import create_connection\nctypes.CDLL('x')\nsubprocess.run([])\n" +
		"os.system('')\nsubprocess.PIPE\nos.environ"
	const want = "from socket import; ctypes.CDLL; subprocess.run; os.system"
	oracle.Equal(t, strings.Join(pythonReachesOut.FindAllString(python, -1), "; "), want, "found in Python")
}

// reaches returns the names in a file of Go that load, start, connect or listen.
func reaches(t *testing.T, name string) (names []string) {
	t.Helper()
	const mode = parser.ParseComments | parser.SkipObjectResolution
	file := oracle.Must(parser.ParseFile(token.NewFileSet(), name, nil, mode))(t)
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if match := directive.FindString(comment.Text); match != "" {
				names = append(names, strings.TrimPrefix(match, "//"))
			}
		}
	}
	paths := map[string]string{}
	for _, spec := range file.Imports {
		imported := oracle.Must(strconv.Unquote(spec.Path.Value))(t)
		local := path.Base(imported)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		if paths[local] = imported; local == "." {
			names = append(names, "import . "+imported)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if of, ok := selector.X.(*ast.Ident); ok && reachesOut.MatchString(paths[of.Name]+"."+selector.Sel.Name) {
			names = append(names, path.Base(paths[of.Name])+"."+selector.Sel.Name)
		}
		return true
	})
	return names
}

// TestReleasesLoadNothing: what is built as releases are has nothing to load a library with.
func TestReleasesLoadNothing(t *testing.T) {
	oracle.Long(t)
	for platform, list := range onEveryPlatform(t, "-tags", "static") {
		packages := strings.Fields(list)
		if !slices.Contains(packages, "runtime") {
			t.Errorf("%s: no runtime in %v", platform, packages)
		}
		for _, loader := range []string{"github.com/ebitengine/purego", "plugin", "runtime/cgo"} {
			if slices.Contains(packages, loader) {
				t.Errorf("%s: package %s is in the command, which SECURITY.md denies", platform, loader)
			}
		}
	}
}
