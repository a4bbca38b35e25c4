package blockbp_test

import (
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// mostWords is how long pages may be, all words counted, code and tables too. A
// path that ends in a slash stands for all pages below it, and none for README.md and docs/ together.
var mostWords = map[string]int{
	"README.md":       600,
	"CONTRIBUTING.md": 500,
	"ARCHITECTURE.md": 1300,
	"docs/tutorial/":  1100,
	"docs/how-to/":    4000,
	"":                12000,
}

// documentation returns the pages that describe the project as it is, with their texts.
func documentation(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for name, text := range markdown(t) {
		if mostWords[name] > 0 || strings.HasPrefix(name, "docs/") {
			pages[name] = text
		}
	}
	return pages
}

// markdown returns the text of every Markdown page of the repository, by its path.
func markdown(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	oracle.OK(t, filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if base := entry.Name(); name != "." && (base[0] == '.' || base == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(name, ".md") {
			text, err := os.ReadFile(name)
			pages[filepath.ToSlash(name)] = string(text)
			return err
		}
		return nil
	}))
	return pages
}

func TestWordsOfPages(t *testing.T) {
	pages := documentation(t)
	for prefix, most := range mostWords {
		words := 0
		for name, text := range pages {
			inAll := prefix == "" && (name == "README.md" || strings.HasPrefix(name, "docs/"))
			if name == prefix || inAll || (strings.HasSuffix(prefix, "/") && strings.HasPrefix(name, prefix)) {
				words += len(strings.Fields(text))
			}
		}
		if prefix == "" {
			prefix = "all pages"
		}
		if words == 0 {
			t.Errorf("%s: there is no such page", prefix)
		}
		if words > most {
			t.Errorf("%s: %d words, want at most %d", prefix, words, most)
		}
	}
}

var (
	codeSpan = regexp.MustCompile("``.+?``|`[^`]+`")
	linkText = regexp.MustCompile(`!?\[([^\]]*)\]\(([^()\s]*)[^()]*\)`)
)

// TestLinksOfPages: every link to a file of the repository leads to one, and one to a heading to a heading.
func TestLinksOfPages(t *testing.T) {
	pages := markdown(t)
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		text := codeSpan.ReplaceAllString(withoutBlocks(pages[name]), "`x`")
		for _, match := range linkText.FindAllStringSubmatch(text, -1) {
			link, err := url.Parse(match[2])
			if err != nil {
				t.Errorf("%s: link %s: %v", name, match[2], err)
				continue
			}
			if link.Scheme != "" {
				continue
			}
			target := name
			if link.Path != "" {
				target = path.Join(path.Dir(name), link.Path)
			}
			if _, err := os.Stat(filepath.FromSlash(target)); err != nil {
				t.Errorf("%s: link %s: %v", name, match[2], err)
				continue
			}
			if link.Fragment != "" && !slices.Contains(anchors(pages[target]), link.Fragment) {
				t.Errorf("%s: link %s: %s has no such heading; its headings are %q", name, match[2], target, anchors(pages[target]))
			}
		}
	}
}

// TestPagesThatGoNames: comments and messages name pages that exist.
func TestPagesThatGoNames(t *testing.T) {
	named := regexp.MustCompile(`\b(?:docs|lab|results)/[\w/-]+\.md\b`)
	oracle.OK(t, filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") {
			return err
		}
		text, err := os.ReadFile(name)
		for _, page := range named.FindAllString(string(text), -1) {
			if _, err := os.Stat(filepath.FromSlash(page)); err != nil {
				t.Errorf("%s names %s: %v", name, page, err)
			}
		}
		return err
	}))
}

// withoutBlocks leaves out fenced code.
func withoutBlocks(page string) string {
	return regexp.MustCompile("(?ms)^ *```.*?^ *```$").ReplaceAllString(page, "")
}

// anchors are the names under which the headings of a page are linked to.
func anchors(page string) []string {
	var names []string
	for _, match := range regexp.MustCompile(`(?m)^#+ +(.*)$`).FindAllStringSubmatch(withoutBlocks(page), -1) {
		name := strings.ToLower(linkText.ReplaceAllString(match[1], "$1"))
		name = regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(name, "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}

var (
	inBackticks = regexp.MustCompile("`([^`\n]+)`")
	fencedBlock = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	// filePath is a source file with its folder, or a folder of internal/.
	filePath = regexp.MustCompile(`^(?:[\w.-]+/)+[\w.-]+\.(?:go|s|css|tmpl)$|^internal/[\w/]+$`)
	// goName is a package with an exported name of it, and perhaps a field or method of that.
	goName = regexp.MustCompile(`^([a-z]+)\.([A-Z]\w*)(?:\.([A-Z]\w*))?$`)
)

// TestNamesOfPages: the files and the names of Go in backticks in ARCHITECTURE.md and on the pages of docs/ exist.
func TestNamesOfPages(t *testing.T) {
	sources := sourcesOfPackages(t)
	pages := 0
	for _, from := range []string{"docs", "ARCHITECTURE.md"} {
		oracle.OK(t, filepath.WalkDir(from, func(page string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(page) != ".md" {
				return err
			}
			pages++
			text, err := os.ReadFile(page)
			for _, match := range inBackticks.FindAllStringSubmatch(fencedBlock.ReplaceAllString(string(text), ""), -1) {
				checkName(t, page, match[1], sources)
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
func checkName(t *testing.T, page, text string, sources map[string]string) {
	if filePath.MatchString(text) {
		if _, err := os.Stat(filepath.FromSlash(text)); err != nil {
			t.Errorf("%s names `%s`: %v", page, text, err)
		}
		return
	}
	parts := goName.FindStringSubmatch(text)
	if parts == nil || sources[parts[1]] == "" {
		return // names of other kinds, and of other packages
	}
	source, name, member := sources[parts[1]], parts[2], parts[3]
	has := func(in, pattern string) bool { return regexp.MustCompile(pattern).MatchString(in) }
	ok := has(source, `(?m)^(func |type |var |const |\t)`+name+`\b`)
	if ok && member != "" {
		fields := regexp.MustCompile(`(?ms)^type ` + name + `\b[^\n]*\{\n(.*?)^\}`).FindString(source)
		ok = has(source, `(?m)^func \((\w+ )?\*?`+name+`\b[^)]*\) `+member+`\b`) || has(fields, `(?m)^\t([\w, ]+, )?`+member+`\b`)
	}
	if !ok {
		t.Errorf("%s names `%s`, but package %s has no such name", page, text, parts[1])
	}
}

// sourcesOfPackages returns the text of every package, by its name.
func sourcesOfPackages(t *testing.T) map[string]string {
	t.Helper()
	all, clause := map[string]string{}, regexp.MustCompile(`(?m)^package (\w+)$`)
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
		text, err := os.ReadFile(name)
		if match := clause.FindSubmatch(text); match != nil {
			all[string(match[1])] += string(text)
		}
		return err
	}))
	return all
}
