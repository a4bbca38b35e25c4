package report

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// testPanel is two rows, one of which lacks the truth.
func testPanel() Panel {
	const w, h = 6, 4
	photo := image.NewGray(image.Rect(3, 5, 3+2*w, 5+2*h))
	labels, confidence := make([]int32, w*h), make([]float64, w*h)
	for i := range labels {
		labels[i] = int32(i%(len(classNames)+1) - 1)
		confidence[i] = float64(i) / (w*h - 1)
	}
	return Panel{
		Title: "Test images", Names: classNames,
		Rows: []PanelRow{
			{Title: "first", Photo: photo, Labels: []PixelLabels{{"truth", labels}, {"prediction", labels}},
				Confidence: confidence, W: w, H: h},
			{Photo: photo, Labels: []PixelLabels{{}, {"prediction", labels}}, W: w, H: h},
		},
	}
}

// tilesOf are the pictures of a panel, and its width.
func tilesOf(t *testing.T, p Panel) (tiles []image.Image, width string) {
	t.Helper()
	text := svgOf(t, p)
	for _, match := range regexp.MustCompile(`data:image/png;base64,([^"]+)`).FindAllStringSubmatch(text, -1) {
		file := oracle.Must(base64.StdEncoding.DecodeString(match[1]))(t)
		tiles = append(tiles, oracle.Must(png.Decode(bytes.NewReader(file)))(t))
	}
	return tiles, regexp.MustCompile(`width="([0-9]+)pt"`).FindStringSubmatch(text)[1]
}

func TestPanel(t *testing.T) {
	p := testPanel()
	tiles, width := tilesOf(t, p)
	if width != "592" || len(tiles) != 6 {
		t.Errorf("%d pictures are %s wide", len(tiles), width)
	}
	text := svgOf(t, p)
	oracle.Contains(t, text, append([]string{"not given", "unknown", "first", hex(unknownColor), `fill:#767676`},
		classNames...)...)
	palette := ClassPalette(len(classNames))
	for i, label := range p.Rows[0].labels(0) {
		want := unknownColor
		if label >= 0 {
			want = palette[label]
		}
		if got := tiles[1].At(i%6, i/6); got != color.Color(want) {
			t.Errorf("pixel %d of class %d is %v, want %v", i, label, got, want)
		}
	}
	element := p.Element()
	if strings.Contains(element, "#767676") || !strings.Contains(element, "var(--text)") {
		t.Error("a part of a page has letters of its own")
	}
}

// TestPanelScales: large pictures are as small as they are shown.
func TestPanelScales(t *testing.T) {
	const w, h = 1000, 500
	labels := make([]int32, w*h)
	labels[len(labels)-3] = 1
	row := PanelRow{Photo: image.NewGray(image.Rect(0, 0, w, h)), Labels: []PixelLabels{{"truth", labels}}, W: w, H: h}
	tiles, _ := tilesOf(t, Panel{Names: classNames, Rows: []PanelRow{row}})
	for _, tile := range tiles {
		oracle.Equal(t, tile.Bounds().Size(), image.Pt(280, 140), "size of a picture")
	}
}

func TestPanelColumns(t *testing.T) {
	whole := testPanel()
	for name, row := range map[string]PanelRow{
		"photo":      {Photo: whole.Rows[0].Photo, W: 6, H: 4},
		"truth":      {Labels: whole.Rows[0].Labels[:1], W: 6, H: 4},
		"confidence": {Confidence: whole.Rows[0].Confidence, W: 6, H: 4},
	} {
		if tiles, width := tilesOf(t, Panel{Names: classNames, Rows: []PanelRow{row}}); width != "160" || len(tiles) != 1 {
			t.Errorf("%s: %d pictures, %s wide", name, len(tiles), width)
		}
	}
}

func TestPanelModels(t *testing.T) {
	p := testPanel()
	labels := p.Rows[0].labels(1)
	p.Rows[0].Confidence = nil
	p.Rows[0].Labels = append(p.Rows[0].Labels[:1], PixelLabels{"one", labels},
		PixelLabels{"a model with a name that is longer than its column", labels})
	p.Rows[1].Labels = []PixelLabels{{}, {"one", labels}}
	if tiles, width := tilesOf(t, p); width != "592" || len(tiles) != 6 {
		t.Errorf("photograph, truth and two models are %d pictures, %s wide", len(tiles), width)
	}
}

func TestClassPalette(t *testing.T) {
	all := ClassPalette(MaxClasses)
	oracle.MustEqual(t, len(all), MaxClasses, "colours")
	seen := map[color.RGBA]bool{unknownColor: true}
	for k, c := range all {
		if seen[c] || c.A != 0xff {
			t.Errorf("colour %d, %v, occurs twice or is transparent", k, c)
		}
		seen[c] = true
	}
	for _, n := range []int{0, 1, 8, 9, 21} {
		got := ClassPalette(n)
		oracle.Equal(t, len(got), n, "how many colours")
		for k := range got {
			oracle.Equal(t, got[k], all[k], "colour %d of more", k)
		}
	}
	const apart = 0.09 // in Oklab, where 0.02 is just noticeable
	for i := range 21 {
		for j := range i {
			a, b := oklab(all[i]), oklab(all[j])
			if d := math.Hypot(math.Hypot(a[0]-b[0], a[1]-b[1]), a[2]-b[2]); d < apart {
				t.Errorf("colours %d and %d are only %.3f apart", j, i, d)
			}
		}
	}
}

// oklab is the place of c in the Oklab colour space (Ottosson 2020), in which
// distances are differences to the eye: lightness 0 to 1, green–red, blue–yellow.
func oklab(c color.RGBA) [3]float64 {
	linear := func(channel uint8) float64 { return math.Pow((float64(channel)/255+0.055)/1.055, 2.4) }
	r, g, b := linear(c.R), linear(c.G), linear(c.B)
	l := math.Cbrt(0.4122214708*r + 0.5363325363*g + 0.0514459929*b)
	m := math.Cbrt(0.2119034982*r + 0.6806995451*g + 0.1073969566*b)
	s := math.Cbrt(0.0883024619*r + 0.2817188376*g + 0.6299787005*b)
	return [3]float64{
		0.2104542553*l + 0.7936177850*m - 0.0040720468*s,
		1.9779984951*l - 2.4285922050*m + 0.4505937099*s,
		0.0259040371*l + 0.7827717662*m - 0.8086757660*s,
	}
}

func TestLabelImage(t *testing.T) {
	labels := []int32{0, 1, -1, 20, 3, 0}
	img := oracle.Must(LabelImage(labels, 3, 2, ClassPalette(21)))(t)
	var file bytes.Buffer
	oracle.OK(t, png.Encode(&file, img))
	decoded := oracle.Must(png.Decode(&file))(t)
	back, ok := decoded.(*image.Paletted)
	if !ok || back.Bounds() != image.Rect(0, 0, 3, 2) {
		t.Fatalf("read back a %T of %v", decoded, decoded.Bounds())
	}
	for i, label := range labels {
		if label < 0 {
			label = unknownIndex
		}
		oracle.Equal(t, int32(back.Pix[i]), label, "pixel %d", i)
	}
	oracle.Fails(LabelImage(labels, 3, 2, ClassPalette(MaxClasses+2)))(t, "257 classes, at most 256 can be drawn")
}

// TestPaletteOf: classes that are called by a colour have it, if all are.
func TestPaletteOf(t *testing.T) {
	oracle.Equal(t, paletteOf([]string{"#000000", "#0aff10"}), []color.RGBA{{A: 255}, {R: 10, G: 255, B: 16, A: 255}},
		"colours")
	for _, names := range [][]string{{"#000000", "tree"}, {"#000000", "#00000g"}, {"#000000", "#0000000"}, {"0", "255"}} {
		oracle.Equal(t, paletteOf(names), ClassPalette(2), "%q have the colours", names)
	}
}
