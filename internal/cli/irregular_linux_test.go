package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestIrregularFiles: where a file is wanted, a device, a pipe or a folder is refused at
// once, and the error names the path. In the commands, $IT is that path, and ends as the
// file that it stands for.
func TestIrregularFiles(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	const mostSeconds = 1
	commands := map[string]string{ // by what the name ends in
		"it.toml":                        "train $GRID -o $OUT --config $IT",
		"it.npz":                         "train $IT -o $OUT\ntrain $GRID -o $OUT --eval dev=$IT\npredict $IT -m $RUN -o $OUT\neval $IT -m $RUN\nsample $IT -o $OUT.npz\ninfer $IT\nconvert $IT -o $OUT.uai\ninfo $IT\ncheck $IT",
		"it.txt":                         "train $IT -o $OUT\ncheck $IT\ntrain $IMAGES -o $OUT --list $IT",
		"it.nodes.tsv":                   "train $IT -o $OUT\ncheck $IT\ninfo $IT",
		"d/dataset.json":                 "train $DIR/d -o $OUT\ncheck $DIR/d\ninfo $DIR/d",
		"d/1.npz":                        "train $DIR/d -o $OUT\ncheck $DIR/d\ninfo $DIR/d",
		"g/web.edges.tsv":                "train $DIR/g -o $OUT\ncheck $DIR/g",
		"i/labels/pic0.regions.txt":      "train $DIR/i -o $OUT\ncheck $DIR/i",
		"i/images/pic0.png":              "train $DIR/i -o $OUT",
		"i/features/pic0.npy":            "train $DIR/i -o $OUT",
		"it.safetensors":                 "train $GRID -o $OUT --init $IT\npredict $GRID -m $IT -o $OUT\neval $GRID -m $IT\ninfo $IT\ncheck $IT\nconvert $GRID -m $IT -o $OUT",
		"it.uai":                         "infer $IT\nsample $IT -o $OUT.npz\nconvert $IT -o $OUT.uai\ninfo $IT\ncheck $IT",
		"it.evid":                        "infer $NET --evidence $IT\nsample $NET -o $OUT.npz --evidence $IT\nconvert $NET -o $OUT.uai --evidence $IT",
		"it.MAR":                         "eval $IT --against $IT",
		"r/config.json":                  "train $DIR/r --resume\ntrain $GRID --resume -o $DIR/r",
		"r/data.json":                    "train $DIR/r --resume",
		"r/metrics.jsonl":                "train $DIR/r --resume\nplot $DIR/r\ncompare $DIR/r $RUN",
		"r/result.json":                  "compare $DIR/r $RUN",
		"r/model.safetensors":            "compare $DIR/r $RUN\ninfo $DIR/r\npredict $GRID -m $DIR/r -o $OUT",
		"r/checkpoint/state.safetensors": "train $DIR/r --resume",
	}
	network := writeFile(t, filepath.Join(t.TempDir(), "net.uai"), loopUAI)
	kinds := map[string]func(path string) error{
		"device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"folder": func(path string) error { return os.Mkdir(path, 0o777) },
	}
	for kind, make := range kinds {
		for name, lines := range commands {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				it := filepath.Join(dir, filepath.FromSlash(name))
				switch strings.SplitN(name, "/", 2)[0] {
				case "d":
					copyFolder(t, gridData(t), filepath.Join(dir, "d"))
				case "g":
					copyFolder(t, graphTables(t), filepath.Join(dir, "g"))
				case "i":
					copyFolder(t, imageFolder(t), filepath.Join(dir, "i"))
				case "r":
					copyFolder(t, gridRun(t), filepath.Join(dir, "r"))
				}
				if err := os.RemoveAll(it); err != nil {
					t.Fatal(err)
				}
				if err := make(it); err != nil {
					t.Fatal(err)
				}
				replace := strings.NewReplacer("$IT", it, "$DIR", dir, "$GRID", gridData(t), "$RUN", gridRun(t), "$IMAGES", imageFolder(t), "$NET", network, "$OUT", filepath.Join(dir, "out"))
				for line := range strings.SplitSeq(lines, "\n") {
					o, bytes, seconds := measured(t, strings.Fields(replace.Replace(line))...)
					switch text := o.stdout + o.stderr; {
					case o.code <= 0 || o.code == 70:
						t.Errorf("%s: exit code %d, want a refusal: %s", line, o.code, text)
					case !strings.Contains(text, filepath.Base(it)):
						t.Errorf("%s: the error does not name %s: %s", line, name, text)
					case bytes > hostileBytes || seconds > mostSeconds:
						t.Errorf("%s: %d MiB and %.1f s of processor time: %s", line, bytes>>20, seconds, text)
					}
				}
			})
		}
	}
}
