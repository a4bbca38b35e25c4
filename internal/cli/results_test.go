package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/describe"
	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/printable"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/internal/synthetic"
)

// results are what verbs print with --json, and what the files of a run hold.
var results = []any{
	job.Summary{}, job.Failure{}, job.Prediction{}, []job.ModelScore{}, job.Choice{}, job.Config{}, job.CouplingRow{},
	describe.Answer{}, describe.Data{}, describe.Model{}, describe.Network{}, []describe.Run{}, describe.Samples{}, describe.States{},
	dryRun{}, checked{}, build{}, againstAnswer{}, convertedNetwork{}, madeFeatures{},
	startEvent{}, noteEvent{}, progressEvent{}, errorEvent{}, runfolder.Metric{},
	synthetic.DemoResult{}, partition.Quality{},
	map[string]any{"x": 0.0}, map[string][]float32{"x": nil},
}

// others hold numbers in JSON and are no results: descriptions of data and models, what a
// run goes on from, which is refused with a number that JSON has not, and what is read.
var others = []string{
	"dataset.Recipe", "dataset.column", "dataset.contrast", "dataset.superpixelRecipe", "synthetic.origin",
	"job.selectionState", "job.trial",
	"watch.result",
}

// TestResultsAreJSON: whatever number a result comes to, it is JSON: what JSON has no
// number for is null, and all else is as it was.
func TestResultsAreJSON(t *testing.T) {
	for _, result := range results {
		var texts [2]any
		for i, numbers := range [][]float64{{1.5}, {math.NaN(), math.Inf(1), math.Inf(-1)}} {
			v := reflect.New(reflect.TypeOf(result)).Elem()
			(&filler{numbers: numbers}).fill(v, 0)
			text, err := printable.EncodeResult(v.Interface(), "")
			if err != nil {
				t.Fatalf("%T: %v", result, err)
			}
			if err := json.Unmarshal(text, &texts[i]); err != nil {
				t.Fatalf("%T: %v: %s", result, err, text)
			}
		}
		if want, got := known(texts[0]), known(texts[1]); !reflect.DeepEqual(got, want) {
			t.Errorf("%T without its numbers is %v, want %v", result, got, want)
		}
	}
}

// filler fills values.
type filler struct {
	numbers []float64 // in turn
	next    int
}

// deepest is where types that hold themselves end.
const deepest = 12

func (f *filler) fill(v reflect.Value, depth int) {
	if depth > deepest {
		return
	}
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		v.SetFloat(f.numbers[f.next%len(f.numbers)])
		f.next++
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(3)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("3") // of json.Number, too
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), depth+1)
	case reflect.Interface:
		if v.NumMethod() == 0 {
			x := reflect.New(reflect.TypeFor[float64]()).Elem()
			f.fill(x, depth+1)
			v.Set(x)
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte("3"))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		f.fill(v.Index(0), depth+1)
		f.fill(v.Index(1), depth+1)
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(key, depth+1)
		f.fill(value, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				f.fill(v.Field(i), depth+1)
			}
		}
	}
}

// known is a JSON value without the numbers that a filler has put there, and without null:
// some types leave out what they do not know.
func known(x any) any {
	switch x := x.(type) {
	case float64:
		if x == 1.5 {
			return nil
		}
	case []any:
		for i := range x {
			x[i] = known(x[i])
		}
	case map[string]any:
		for key, value := range x {
			if x[key] = known(value); x[key] == nil {
				delete(x, key)
			}
		}
	}
	return x
}

// TestResultsAreAll: every type that writes floating-point numbers as JSON is a result, or
// named as something else, and nothing but their encoder writes results.
func TestResultsAreAll(t *testing.T) {
	reached := map[string]bool{}
	for _, result := range results {
		reach(reflect.TypeOf(result), reached)
	}
	var missing, encoders []string
	declared := map[string]bool{}
	eachSource(t, func(path string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				name := file.Name.Name + "." + n.Name.Name
				if declared[name] = declared[name] || writesFloats(n.Type); writesFloats(n.Type) && !reached[name] && !slices.Contains(others, name) {
					missing = append(missing, name)
				}
			case *ast.SelectorExpr:
				if name, ok := n.X.(*ast.Ident); ok && name.Name == "json" && (n.Sel.Name == "NewEncoder" || n.Sel.Name == "MarshalIndent") {
					encoders = append(encoders, path)
				}
			}
			return true
		})
	})
	if len(missing) > 0 {
		t.Errorf("these types are neither among results nor among others: %v", missing)
	}
	for _, name := range others {
		if !declared[name] || reached[name] {
			t.Errorf("%s is among others, and is no type with numbers in JSON, or a result", name)
		}
	}
	// Descriptions of data and tensors have their own.
	want := []string{"dataset/manifest.go", "internal/printable/encode.go", "internal/safetensors/write.go"}
	if slices.Sort(encoders); !slices.Equal(encoders, want) {
		t.Errorf("JSON is encoded in %v, want %v alone: use printable.EncodeResult", encoders, want)
	}
	if len(reached) < 50 {
		t.Errorf("%d types are reached: %v", len(reached), slices.Sorted(maps.Keys(reached)))
	}
}

// reach collects the names of the types that a type holds.
func reach(t reflect.Type, names map[string]bool) {
	if name := t.String(); t.Name() != "" {
		if names[name] {
			return
		}
		names[name] = true
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		reach(t.Elem(), names)
	case reflect.Struct:
		for i := range t.NumField() {
			reach(t.Field(i).Type, names)
		}
	}
}

// writesFloats reports whether a type is a struct with floating-point numbers in fields with
// names for JSON.
func writesFloats(t ast.Expr) (found bool) {
	s, ok := t.(*ast.StructType)
	if !ok {
		return false
	}
	for _, field := range s.Fields.List {
		if field.Tag == nil || !strings.Contains(field.Tag.Value, "json:") || strings.Contains(field.Tag.Value, `json:"-"`) {
			continue
		}
		ast.Inspect(field.Type, func(n ast.Node) bool {
			name, ok := n.(*ast.Ident)
			found = found || ok && (name.Name == "float64" || name.Name == "float32" || name.Name == "Float")
			return true
		})
	}
	return found
}

// eachSource parses all files of the module but those of tests.
func eachSource(t *testing.T, use func(path string, file *ast.File)) {
	const root = "../.."
	oracle.OK(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		path = filepath.ToSlash(path)
		if err != nil || d.IsDir() && (d.Name() == "testdata" || d.Name() == "lab" || strings.HasPrefix(d.Name(), ".") && d.Name() != "..") {
			return cmp.Or(err, fs.SkipDir)
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		use(strings.TrimPrefix(path, root+"/"), file)
		return nil
	}))
}
