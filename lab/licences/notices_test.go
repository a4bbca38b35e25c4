// Package licences writes the texts of the licences of all that is linked into blockbp.
package licences

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/blockbp/blockbp/internal/oracle"
)

const noticesFile = "../../internal/cli/notices.txt"

var update = flag.Bool("update", false, "write the texts anew")

// noticesHead is what the licences ask to be said, beside their own texts.
const noticesHead = `blockbp contains the Go standard library, the modules below, and uPlot, all unchanged.
Their licences ask that these texts go with every copy.
`

var (
	// licenceFile is the name of a file, or of a folder of files, that goes with every copy.
	licenceFile = regexp.MustCompile(`(?i)^(licen[cs]es?|copying|copyright|notices?|patents|authors|third_party_licenses)` +
		`([-.]\w+)*$`)
	// licenceComment has terms of its own, where others point to the file of their module.
	licenceComment = regexp.MustCompile(`(?is)copyright.*(permission to|redistribution)`)
	pointsToFile   = regexp.MustCompile(`(?i)\bLICENSE file`)
)

// fontLicence is the file that has the licence of the letters on pictures.
const fontLicence = "font/gofont/ttfs/README"

// linkedPackage is what go list says of a package that is linked into blockbp.
type linkedPackage struct {
	Dir                 string
	Module              *struct{ Path, Version, Dir string }
	GoFiles, EmbedFiles []string
}

// TestNotices: the texts that blockbp carries are those of all modules that are linked into it
// on any system that has a release. Write them anew with make licences.
func TestNotices(t *testing.T) {
	want := notices(t)
	if *update {
		oracle.OK(t, os.WriteFile(noticesFile, []byte(want), 0o644))
	}
	if string(oracle.Must(os.ReadFile(noticesFile))(t)) != want {
		t.Errorf("%s does not have the licences of the modules in go.mod: "+
			"run make licences, and read the difference", noticesFile)
	}
}

// notices are the head and every text once, below the names of all that it belongs to.
func notices(t *testing.T) string {
	t.Helper()
	var order []string
	owners := map[string][]string{}
	add := func(owner, text string) {
		if text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")); !utf8.ValidString(text) {
			text = strings.ReplaceAll(text, "\xa9", "©") // as Latin-1 has it
		}
		if !utf8.ValidString(text) {
			t.Errorf("%s is neither UTF-8 nor that with © of Latin-1", owner)
		}
		if owners[text] == nil {
			order = append(order, text)
		}
		if !slices.Contains(owners[text], owner) {
			owners[text] = append(owners[text], owner)
		}
	}
	root := oracle.Must(exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output())(t)
	if !addFiles(t, "Go", strings.TrimSpace(string(root)), false, add) {
		t.Fatalf("%s has no LICENSE: take a Go of go.dev/dl", root)
	}
	packages := linked(t)
	modules := map[string]bool{}
	for _, p := range packages {
		name := strings.TrimSpace(p.Module.Path + " " + p.Module.Version)
		if !modules[name] {
			modules[name] = true
			if !addFiles(t, name, p.Module.Dir, p.Module.Version != "", add) {
				t.Errorf("module %s has no file with its licence: find out whether blockbp may be given away with it", name)
			}
		}
		if p.Module.Version != "" {
			addComments(t, name, p, add)
			continue
		}
		for _, file := range p.EmbedFiles { // such as those of others in a folder of their own
			if folder := filepath.Dir(file); folder != "." {
				addFiles(t, "github.com/blockbp/blockbp, "+filepath.Base(folder), filepath.Join(p.Dir, folder), false, add)
			}
		}
	}
	if len(modules) < 2 {
		t.Fatalf("only %d modules are linked into blockbp", len(modules))
	}
	var all strings.Builder
	all.WriteString(noticesHead)
	for _, text := range order {
		names := strings.Join(owners[text], "\n")
		fmt.Fprintf(&all, "\n%s\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), names, strings.Repeat("-", 80), text)
	}
	return all.String()
}

// linked returns the packages of modules in the command, for all systems of the Makefile, by module and
// folder. A build that loads libraries has what the static ones have, and more.
func linked(t *testing.T) []linkedPackage {
	t.Helper()
	makefile := oracle.Must(os.ReadFile("../../Makefile"))(t)
	platforms := regexp.MustCompile(`(?m)^PLATFORMS := (.*)$`).FindStringSubmatch(string(makefile))
	if platforms == nil {
		t.Fatal("the Makefile does not say PLATFORMS")
	}
	found := map[string]linkedPackage{}
	for platform := range strings.FieldsSeq(platforms[1]) {
		system, processor, _ := strings.Cut(platform, "/")
		const fields = "-json=Dir,Module,GoFiles,EmbedFiles"
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", fields, "./cmd/blockbp")
		list.Dir = "../.."
		list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor)
		var complaint bytes.Buffer
		list.Stderr = &complaint
		out, err := list.Output()
		if err != nil {
			t.Fatalf("%s: %v: %s", platform, err, &complaint)
		}
		for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
			var p linkedPackage
			oracle.OK(t, decoder.Decode(&p))
			if p.Module != nil {
				p.GoFiles = append(p.GoFiles, found[p.Dir].GoFiles...)
				found[p.Dir] = p
			}
		}
	}
	var packages []linkedPackage
	for _, p := range found {
		slices.Sort(p.GoFiles)
		p.GoFiles = slices.Compact(p.GoFiles)
		packages = append(packages, p)
	}
	slices.SortFunc(packages, func(a, b linkedPackage) int {
		folders := strings.Compare(filepath.ToSlash(a.Dir), filepath.ToSlash(b.Dir))
		return cmp.Or(strings.Compare(a.Module.Path, b.Module.Path), folders)
	})
	return packages
}

// addFiles adds the files that go with every copy, of a folder or of all below it too, and
// reports whether there are any.
func addFiles(t *testing.T, owner, folder string, below bool, add func(owner, text string)) (found bool) {
	t.Helper()
	oracle.OK(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		switch {
		case entry.IsDir() && (!below || entry.Name() == "testdata"):
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(name) == ".go":
		case name == fontLicence || licenceFile.MatchString(entry.Name()) || licenceFile.MatchString(filepath.Base(filepath.Dir(name))):
			found = true
			add(owner+": "+name, string(oracle.Must(os.ReadFile(path))(t)))
		}
		return nil
	}))
	return found
}

// addComments adds the terms in the source of a package, such as those of code from elsewhere.
func addComments(t *testing.T, owner string, p linkedPackage, add func(owner, text string)) {
	t.Helper()
	for _, name := range p.GoFiles {
		path := filepath.Join(p.Dir, name)
		const mode = parser.ParseComments | parser.SkipObjectResolution
		file := oracle.Must(parser.ParseFile(token.NewFileSet(), path, nil, mode))(t)
		for _, group := range file.Comments {
			if text := group.Text(); licenceComment.MatchString(text) && !pointsToFile.MatchString(text) {
				add(owner+": "+filepath.ToSlash(path[len(p.Module.Dir)+1:]), text)
			}
		}
	}
}
