package dataset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/oracle"
)

// colourful is a folder of pictures of those sizes in random colours, and the colours themselves.
func colourful(t testing.TB, seed uint64, sizes ...[2]int) (files map[string]string, pictures []*image.NRGBA) {
	random := rand.New(rand.NewPCG(seed, 1))
	files = map[string]string{ManifestName: `{"states": ["a", "b"]}`}
	for i, s := range sizes {
		picture := image.NewNRGBA(image.Rect(0, 0, s[1], s[0]))
		var labels strings.Builder
		for r := range s[0] {
			for c := range s[1] {
				picture.Set(c, r, color.NRGBA{uint8(random.IntN(60)), uint8(random.IntN(60)), uint8(random.IntN(60)), 255})
				fmt.Fprintf(&labels, "%d ", (r+c+i)%2)
			}
			labels.WriteString("\n")
		}
		id := fmt.Sprintf("p%d", i)
		files["images/"+id+".png"] = pictureOf(t, picture)
		files["labels/"+id+".regions.txt"] = labels.String()
		files["features/"+id+".npy"] = cells(s[0], s[1], 1)
		pictures = append(pictures, picture)
	}
	return files, pictures
}

// ways are the rows and columns from the first to the second end of an edge of each direction.
var ways = [][2]int{{0, 1}, {1, 0}, {1, 1}, {1, -1}}

// stepOf returns rows and columns from the first to the second end of an edge.
func stepOf(u, v int32, cols int) (down, over int) {
	return int(v)/cols - int(u)/cols, int(v)%cols - int(u)%cols
}

// TestContrastEdges compares the features of edges with those computed pixel by pixel, without bins.
func TestContrastEdges(t *testing.T) {
	const scales = 3
	files, pictures := colourful(t, 1, [2]int{7, 5}, [2]int{4, 9})
	folder := writeFiles(t, files)
	for _, o := range []Options{{}, {Neighbours: 8}} {
		set := mustOpen(t, folder, o)
		width, ways := 1+scales, ways[:set.Recipe.Neighbours/2]
		if edges := set.Schema.EdgeTypes[0]; edges.Features != len(ways)*width || edges.Symmetric ||
			len(edges.FeatureNames) != edges.Features {
			t.Fatalf("%+v: %d features, want %d; %+v", o, edges.Features, len(ways)*width, edges)
		}
		// What is compared with: |Δrgb|² and its means.
		known := map[[3]int]float64{}
		sums := [2]float64{}
		for i, in := range set.Instances {
			joined := map[[2]int32]bool{}
			for e := range int32(in.Graph.NumEdges()) {
				u, v := in.Graph.U(e), in.Graph.V(e)
				if joined[[2]int32{u, v}] {
					t.Errorf("%d and %d are joined twice", u, v)
				}
				joined[[2]int32{u, v}] = true
				x := 0.0
				at := func(s int32) color.NRGBA { return pictures[i].NRGBAAt(int(s)%in.Cols, int(s)/in.Cols) }
				a, b := at(u), at(v)
				for _, d := range []int{int(a.R) - int(b.R), int(a.G) - int(b.G), int(a.B) - int(b.B)} {
					x += float64(d * d)
				}
				known[[3]int{i, int(u), int(v)}] = x
				sums[0]++
				sums[1] += x
			}
			// Every pair of neighbouring pixels is joined.
			for r := range in.Rows {
				for c := range in.Cols {
					for _, d := range ways {
						y, x := r+d[0], c+d[1]
						pair := [2]int32{int32(r*in.Cols + c), int32(y*in.Cols + x)}
						if inside := y < in.Rows && x >= 0 && x < in.Cols; inside && !joined[pair] {
							t.Errorf("(%d, %d) is not joined to (%d, %d)", r, c, y, x)
						}
					}
				}
			}
		}
		for i, in := range set.Instances {
			for e := range int32(in.Graph.NumEdges()) {
				u, v := in.Graph.U(e), in.Graph.V(e)
				down, over := stepOf(u, v, in.Cols)
				x := known[[3]int{i, int(u), int(v)}]
				want, way := make([]float64, len(ways)*width), 0
				for ways[way] != [2]int{down, over} {
					way++
				}
				own := want[way*width:][:width]
				own[0] = 1
				tolerance := slices.Repeat([]float64{0}, width)
				for j, factor := range []float64{1, 4, 16} {
					own[1+j], tolerance[1+j] = math.Exp(-factor*x/(2*sums[1]/sums[0])), 1.5/colourBins
				}
				got := row(in.EdgeFeatures(0), int(e))
				for j := range want {
					most := 0.0
					if j/width == way {
						most = tolerance[j%width]
					}
					if math.Abs(got[j]-want[j]) > most+1e-9 {
						t.Errorf("%+v: feature %s of edge %d–%d is %v, want %v to %v", o, set.Schema.EdgeTypes[0].FeatureNames[j], u, v, got[j], want[j], most)
					}
				}
			}
			oracle.Equal(t, ground.Tables(in.EdgeFeatures(0)), len(ways)*len(set.Recipe.Edges.Colour[0].Values), "tables")
		}
		// The recipe is the same when it is read again, and a picture has the same features alone as among others.
		again := oracle.Must(ParseRecipe(set.Recipe.String()))(t)
		oracle.Equal(t, *again, set.Recipe, "recipe")
		only := writeFiles(t, files)
		one := mustOpen(t, only, Options{Schema: &set.Schema, Recipe: again, List: writeList(t, "p1\n"), NoLabels: true})
		for e := range one.Instances[0].Graph.NumEdges() {
			oracle.MustEqual(t, row(one.Instances[0].EdgeFeatures(0), e), row(set.Instances[1].EdgeFeatures(0), e),
				"features of edge %d of the same picture", e)
		}
	}
}

func writeList(t testing.TB, text string) string {
	return filepath.Join(writeFiles(t, map[string]string{"list.txt": text}), "list.txt")
}

// TestTransparentPictures: colours are as they stand in the file, and not as much as they show.
func TestTransparentPictures(t *testing.T) {
	narrow, wide := image.NewNRGBA(image.Rect(0, 0, 2, 1)), image.NewNRGBA64(image.Rect(0, 0, 2, 1))
	narrow.Pix = []uint8{200, 100, 50, 128, 10, 20, 30, 0}
	for i, x := range narrow.Pix {
		wide.Pix[2*i], wide.Pix[2*i+1] = x, x
	}
	for _, p := range []image.Image{narrow, wide} {
		files := map[string]string{"images/a.png": pictureOf(t, p), "labels/a.regions.txt": "0 1\n"}
		set := mustOpen(t, writeFiles(t, files), Options{})
		f := set.Instances[0].NodeFeatures(0)
		oracle.Equal(t, fmt.Sprint(row(f, 0), row(f, 1)), "[200 100 50 1] [10 20 30 1]", "colours of %T", p)
		oracle.Contains(t, fmt.Sprint(set.Warnings), "the alpha band of pictures, as of ")
	}
	files, _ := colourful(t, 1, [2]int{3, 3}) // through which nothing shows
	delete(files, "features/p0.npy")
	oracle.Equal(t, strings.Contains(fmt.Sprint(mustOpen(t, writeFiles(t, files), Options{}).Warnings), "alpha"), false,
		"notes of an opaque picture")
}

func TestEdgeOptionsRefuse(t *testing.T) {
	files, _ := colourful(t, 3, [2]int{3, 3})
	folder := writeFiles(t, files)
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Edges: "contrasts"}, `did you mean "contrast"?`},
		{Options{Edges: edgesContrast, Bins: 4}, "Bins: it goes with dataset.Options.Edges"},
	} {
		refuses(t, folder, c.o, c.want)
	}
	set := mustOpen(t, folder, Options{})
	for name, spoil := range map[string]func(*Recipe){
		"bins":    func(r *Recipe) { r.Bins = 1 },
		"offsets": func(r *Recipe) { r.Edges.Offsets[0] = 4 },
		"colours": func(r *Recipe) { r.Edges.Colour[0] = contrast{} },
		"scales":  func(r *Recipe) { r.Edges.Colour[0].Scales = nil },
		"values":  func(r *Recipe) { r.Edges.Colour[0].Values[0] = math.Inf(1) },
		"bounds":  func(r *Recipe) { r.Edges.Colour[0].Bounds = r.Edges.Colour[0].Bounds[1:] },
		"kind":    func(r *Recipe) { r.Kind = kindGraph },
	} {
		r := oracle.Must(ParseRecipe(set.Recipe.String()))(t)
		if spoil(r); r.validate() == nil {
			t.Errorf("%s: %+v is taken", name, r)
		}
	}
	if set := mustOpen(t, folder, Options{Schema: &set.Schema, Recipe: &set.Recipe, Bins: 3}); len(set.Warnings) != 1 {
		t.Errorf("warnings are %q", set.Warnings)
	}
}

// TestOrientation: pictures that viewers turn are told of, in either order of bytes, and no cut header is read beyond.
func TestOrientation(t *testing.T) {
	for marks, order := range map[string]binary.AppendByteOrder{"II": binary.LittleEndian, "MM": binary.BigEndian} {
		exif := order.AppendUint32(order.AppendUint16([]byte("Exif\x00\x00"+marks), 42), 8)
		exif = order.AppendUint16(exif, 2) // entries: the width, and the orientation
		for _, entry := range [][2]uint16{{0x0100, 7}, {0x0112, 6}} {
			exif = order.AppendUint32(order.AppendUint16(order.AppendUint16(exif, entry[0]), 3), 1)
			exif = order.AppendUint16(order.AppendUint16(exif, entry[1]), 0)
		}
		if !turned(exif) {
			t.Errorf("%s: it is not turned", marks)
		}
		for n := range len(exif) - 4 {
			if turned(exif[:n]) {
				t.Errorf("%s: turned by %d of %d bytes", marks, n, len(exif))
			}
		}
		if exif = bytes.ReplaceAll(exif, []byte{6}, []byte{1}); turned(exif) {
			t.Errorf("%s: it is turned upright", marks)
		}
	}
}
