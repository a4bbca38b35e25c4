package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// A verb declares which of its options and arguments it reads as paths, and what it writes to --out. So one place
// keeps the promise of all verbs: nothing is written over a file that is there unless --force allows it, and nothing
// ever over a file that the same command reads. What a verb writes it gets from there too: target and newFolder.

// readsAnnotation is that of options, and of verbs for their arguments; its value says what is wanted.
const readsAnnotation = "blockbp-reads"

// What is wanted of inputs that several verbs have.
const (
	wantsData  = "data: .npz files, an image folder, tables of nodes and edges, or tagged text"
	wantsModel = "a model file, or the folder of a run"
)

// forceOption is the option of every verb that can write over files.
const forceOption = "force"

// reads declares that options name what a verb reads; NAME= may stand in front.
func reads(fl *pflag.FlagSet, wanted string, names ...string) {
	for _, name := range names {
		if err := fl.SetAnnotation(name, readsAnnotation, []string{wanted}); err != nil {
			panic("cli: " + err.Error()) // there is no such option
		}
	}
}

// readsArguments declares that the arguments of a verb name what it reads.
func readsArguments(cmd *cobra.Command, wanted string) {
	cmd.Annotations = map[string]string{readsAnnotation: wanted}
}

// outputKind is what an output is.
type outputKind int

const (
	outputFile   outputKind = iota
	outputFolder            // to be made
	outputRun               // the folder of a training, to be made
	outputKept              // a folder of ours to go on with
	outputNone              // nothing, or standard output
)

// written is what a verb writes.
type written struct {
	option string // that names it, as messages refer to it
	usage  string // what the option is; "" of a training
	path   string
	kind   outputKind
}

// writes declares that --out names what a verb writes. kind tells what that is, or is outputNone; it is asked when the
// command line is known.
func (a *app) writes(cmd *cobra.Command, kind func(path string, args []string) outputKind) {
	out := cmd.Flags().Lookup("out")
	a.declare(cmd, func(args []string) *written {
		o := &written{"{out}", out.Usage, out.Value.String(), outputNone}
		if o.path != "" {
			o.kind = kind(o.path, args)
		}
		return o
	})
}

// declare says what a verb writes, once the command line is known.
func (a *app) declare(cmd *cobra.Command, find func(args []string) *written) {
	if a.declared == nil {
		a.declared = map[*cobra.Command]func([]string) *written{}
	}
	a.declared[cmd] = find
}

// forceable gives a verb the option --force.
func forceable(cmd *cobra.Command, help string) {
	cmd.Flags().Bool(forceOption, false, help)
}

// forceHelp is the help of --force where it does nothing else.
const forceHelp = "write over files, but never over inputs"

// always is the kind of an output that is the same for any path.
func always(kind outputKind) func(string, []string) outputKind {
	return func(string, []string) outputKind { return kind }
}

// byExtension is a file where the path ends as one, or all do if no extension is given,
// standard output if it may be, and else a folder.
func byExtension(stdout bool, extensions ...string) func(string, []string) outputKind {
	return func(path string, _ []string) outputKind {
		switch {
		case stdout && path == "-":
			return outputNone
		case len(extensions) == 0, slices.Contains(extensions, filepath.Ext(path)):
			return outputFile
		}
		return outputFolder
	}
}

// input is something that a command reads.
type input struct{ option, path, wanted string }

// files are what one command reads and writes.
type files struct {
	force  bool
	inputs []input
	found  []string   // files that were found while reading
	output *written   // nil: the command writes nothing, or to standard output
	known  []identity // of all that is read; nil until it is asked for
	held   bool       // the folder of the training is made, or opened, and kept for it
}

// openFiles takes note of what a command reads and writes, and refuses outputs that would be written over something.
func (a *app) openFiles(cmd *cobra.Command, args []string) error {
	f := &files{force: cmd.Flags().Changed(forceOption) && cmd.Flags().Lookup(forceOption).Value.String() == "true"}
	if wanted, ok := cmd.Annotations[readsAnnotation]; ok {
		f.inputs = numeric.Map(args, func(path string) input { return input{path: path, wanted: wanted} })
	}
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		wanted, ok := flag.Annotations[readsAnnotation]
		if !ok {
			return
		}
		paths := []string{flag.Value.String()}
		if list, isList := flag.Value.(pflag.SliceValue); isList {
			paths = list.GetSlice()
		}
		for _, path := range paths {
			if _, named, ok := strings.Cut(path, "="); ok && exists(named) {
				f.inputs = append(f.inputs, input{"{" + flag.Name + "}", named, wanted[0]})
			}
			if path != "" {
				f.inputs = append(f.inputs, input{"{" + flag.Name + "}", path, wanted[0]})
			}
		}
	})
	if find := a.declared[cmd]; find != nil {
		if f.output = find(args); f.output != nil && f.output.kind == outputNone {
			f.output = nil
		}
	}
	a.files = f
	return f.check()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// readsAlso takes note of files that were found while reading. What was promised of
// outputs is looked at again: only now it is known what else is read.
func (a *app) readsAlso(sources []dataset.Source) error {
	found := numeric.Map(sources, func(s dataset.Source) string { return s.Path })
	a.files.found = append(a.files.found, found...)
	a.files.known = nil
	return a.files.check()
}

func (f *files) check() error {
	switch o := f.output; {
	case o == nil:
		return nil
	case o.path == "-":
		return o.refusef("the result goes into files, not to standard output: give a name, ./- if that is the one")
	case o.kind == outputFile:
		return f.checkFile(*o)
	default:
		return f.checkFolder(*o)
	}
}

// checkFile refuses an output file that may not be written, or cannot be.
func (f *files) checkFile(o written) error {
	if read := f.readAs(o.path); read != "" {
		return o.refusef("the command reads it%s; choose another", read)
	}
	if fileio.IsStream(o.path) {
		return nil
	}
	info, err := os.Stat(o.path)
	link, linkErr := os.Lstat(o.path)
	switch {
	case err == nil && info.IsDir():
		return o.refusef("it is a folder, want the name of a file to write")
	case linkErr != nil, f.force:
		return o.checkParent()
	case link.Mode()&fs.ModeSymlink != 0 && err != nil:
		return o.refusef("it is a symbolic link to a file that is not there; choose another, or follow the link with {force}")
	}
	return o.refusef("it is there already; choose another, or write over it with {force}")
}

// refusef says why an output may not be.
func (o written) refusef(format string, arguments ...any) error {
	text := fmt.Sprintf(format, option.Literals(format, arguments)...)
	return usagef("%s: %s", option.Text(o.name()), option.Text(text))
}

// name is the output in messages.
func (o written) name() string { return strings.TrimSpace(o.option + " " + option.Literal(o.path)) }

// checkParent refuses a file in a folder that is not there, or cannot be written to.
func (o written) checkParent() error {
	folder := filepath.Dir(o.path)
	probe, err := os.CreateTemp(folder, ".blockbp-*")
	if err == nil {
		return errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	remedy := ""
	if errors.Is(err, fs.ErrNotExist) {
		remedy = fmt.Sprintf("; make the folder %s, or name another", folder)
	}
	return &exitError{exitIO, fmt.Errorf("%s: cannot write there: %w%s", o.name(), reason(err), remedy)}
}

// reason is an error of the system without the name of a file that was tried.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// fileEndings are those of names that nobody gives a folder.
var fileEndings = strings.Fields(".csv .tsv .txt .tab .dat .log .iob .bio .conll .conllu .crfsuite .json .jsonl " +
	".npz .npy .pt .pkl .h5 .mat .parquet .xls .xlsx .uai .bif .mar .safetensors .png .jpg .svg .pdf .html .zip .gz")

// checkFolder refuses a folder that would have the name of a file, or that holds anything, unless what is in it may be
// replaced and is not read.
func (f *files) checkFolder(o written) error {
	var err error
	if f.held {
		o.kind = outputKept
	} else {
		err = runfolder.CheckFree(o.path)
	}
	var taken *runfolder.NotEmptyError
	switch {
	case err == nil && !f.held && slices.Contains(fileEndings, strings.ToLower(filepath.Ext(o.path))) && !exists(o.path):
		return o.refusef("it would be a folder; want %s, such as %s/", cmp.Or(o.usage, "another name, or a folder"), o.path)
	case err == nil && !f.held:
		return o.checkWay()
	case o.kind != outputKept && !errors.As(err, &taken): // a process is at work in it
		return err
	}
	switch {
	case o.kind == outputKept:
	case !f.force && o.kind == outputRun && job.IsRunFolder(o.path):
		return o.refusef("a training is in this folder already: choose another folder, go on with it by {resume}, or " +
			"start it anew with {force}")
	case o.kind == outputRun && !job.IsRunFolder(o.path):
		return o.refusef("the folder is not empty (it holds %q), and not of a training: choose another, or remove it",
			taken.Holds)
	case !f.force:
		return o.refusef("the folder is not empty (it holds %q): choose another, remove it, or write over what it holds "+
			"with {force}", taken.Holds)
	}
	root := o.path
	if whole, err := filepath.EvalSymlinks(root); err == nil { // a symbolic link is not gone into
		root = whole
	}
	return filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a process is at work there, and has just written it
		}
		if err != nil || e.IsDir() {
			return err
		}
		inside, err := filepath.Rel(root, path)
		if err != nil || o.kind == outputKept && !job.IsRunFile(filepath.ToSlash(inside)) {
			return err
		}
		if read := f.readAs(path); read != "" {
			return o.refusef("it holds %s, which the command reads%s; choose another folder", inside, read)
		}
		return nil
	})
}

// checkWay refuses a folder that cannot be made, because a file is in the place of it or of one above.
func (o written) checkWay() error {
	for dir := filepath.Clean(o.path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		switch {
		case err == nil && !info.IsDir():
			return &exitError{exitIO, fmt.Errorf("%s: %s is a file and not a directory; choose another folder", o.name(), dir)}
		case err == nil, dir == filepath.Dir(dir):
			return nil
		}
	}
}

// readAs says under which other name, if that is another, the command reads the file at
// a path: " (as --evidence e)", or "" where it does not read it.
func (f *files) readAs(path string) option.Text {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return ""
	}
	for _, is := range f.identities() {
		if os.SameFile(info, is.info) {
			return option.Text(" (as " + is.name + ")")
		}
	}
	return ""
}

// identity is a file and what the command calls it.
type identity struct {
	name string
	info os.FileInfo
}

// identities are of all files that the command reads.
func (f *files) identities() []identity {
	if f.known != nil {
		return f.known
	}
	inputs := slices.Concat(f.inputs, numeric.Map(f.found, func(file string) input { return input{path: file} }))
	for _, in := range inputs {
		for _, file := range in.files() {
			if info, err := os.Stat(file); err == nil && !info.IsDir() {
				f.known = append(f.known, identity{strings.TrimSpace(in.option + " " + file), info})
			}
		}
	}
	return f.known
}

// files are the file of an input, or those of the training in its folder that verbs read.
func (in input) files() []string {
	if job.IsRunFolder(in.path) {
		return job.RecordsOf(in.path)
	}
	return []string{in.path}
}

// target is the file that the command writes. What openFiles found out of it holds at the moment of writing too.
func (a *app) target() fileio.Target {
	o := a.files.output
	if o == nil {
		return fileio.Target{}
	}
	t := fileio.Target{Path: o.path}
	if a.files.force {
		t.Replace = func() error { return a.files.mayReplace(o.path) }
	}
	return t
}

// mayReplace refuses to replace a file that the command reads.
func (f *files) mayReplace(path string) error {
	if read := f.readAs(path); read != "" {
		return usagef("%s: the command reads it%s, and does not write over it", path, read)
	}
	return nil
}

// newFolder makes the folder that the command writes, for results that no training can be resumed with.
func (a *app) newFolder() (run *runfolder.Run, err error) {
	if path := a.files.output.path; a.files.force {
		run, err = runfolder.CreateOver(path, a.files.mayReplace)
	} else {
		run, err = runfolder.Create(path)
	}
	if err == nil {
		a.opened = append(a.opened, run)
	}
	return run, err
}

// nameInput says which option or argument names a file that is not there, and what is wanted.
func (a *app) nameInput(err error) error {
	var path *fs.PathError
	if a.files == nil || !errors.As(err, &path) || !errors.Is(err, fs.ErrNotExist) || err.Error() != path.Error() {
		return err
	}
	for _, in := range a.files.inputs {
		if filepath.Clean(in.path) == filepath.Clean(path.Path) {
			return &exitError{codeOf(err), fmt.Errorf("%s: no such file or directory; want %s",
				strings.TrimSpace(in.option+" "+in.path), in.wanted)}
		}
	}
	return err
}
