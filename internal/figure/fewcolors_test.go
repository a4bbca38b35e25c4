package figure

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"testing"
)

// randomImage is an opaque image of random pixels out of these colours.
func randomImage(width, height int, colors []color.RGBA) *image.RGBA {
	random := rand.New(rand.NewPCG(3, 4))
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			img.SetRGBA(x, y, colors[random.IntN(len(colors))])
		}
	}
	return img
}

func TestFewColorsKeepsInks(t *testing.T) {
	inks := append([]color.RGBA{inkText, inkQuiet, inkAxis, inkGrid, inkPaper}, seriesColors...)
	img := randomImage(40, 30, inks)
	few := fewColors(img)
	for y := range 30 {
		for x := range 40 {
			if few.At(x, y) != color.Color(img.RGBAAt(x, y)) {
				t.Fatalf("pixel %d, %d is %v, want %v", x, y, few.At(x, y), img.RGBAAt(x, y))
			}
		}
	}
}

func TestFewColorsOfMany(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	colors := []color.RGBA{inkPaper}
	for range 5000 {
		colors = append(colors, color.RGBA{uint8(random.IntN(256)), uint8(random.IntN(256)), uint8(random.IntN(256)), 0xff})
	}
	img := randomImage(200, 100, colors)
	for x := range 200 { // paper, and shades of it that are fewer
		for y := range 50 {
			img.SetRGBA(x, y, color.RGBA{uint8(0xff - x%3), 0xff, 0xff, 0xff})
			if x%2 == 0 {
				img.SetRGBA(x, y, inkPaper)
			}
		}
	}
	few := fewColors(img)
	if len(few.Palette) != mostColors {
		t.Fatalf("%d colours", len(few.Palette))
	}
	for y := range 100 {
		for x := range 200 {
			want, got := img.RGBAAt(x, y), few.At(x, y)
			if want == inkPaper && got != color.Color(inkPaper) {
				t.Fatalf("paper became %v", got)
			}
			if nearest := few.Palette.Convert(want); rgbDistance(got, want) > rgbDistance(nearest, want)+3*16*16 {
				t.Fatalf("%v became %v, though %v is nearer", want, got, nearest)
			}
		}
	}
}

// rgbDistance is the squared distance of two opaque colours.
func rgbDistance(a, b color.Color) int {
	ar, ag, ab, _ := a.RGBA()
	br, bg, bb, _ := b.RGBA()
	d := func(x, y uint32) int { return (int(x>>8) - int(y>>8)) * (int(x>>8) - int(y>>8)) }
	return d(ar, br) + d(ag, bg) + d(ab, bb)
}

func TestFiguresAreIndexed(t *testing.T) {
	for name, f := range map[string]Figure{"curves": convergence(), "matrix": confusion(8), "bars": Bars{Names: []string{"a"}, Series: []BarSeries{{Values: []float64{1}}}}} {
		var file bytes.Buffer
		if err := f.PNG(&file); err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(&file)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := img.(*image.Paletted); !ok {
			t.Errorf("%s: the image is a %T", name, img)
		}
		if img.At(0, 0) != color.Color(inkPaper) {
			t.Errorf("%s: the paper is %v", name, img.At(0, 0))
		}
	}
}

func TestThinnedPeakIsVisible(t *testing.T) {
	f := noisy(20_000)
	f.Series[0].Y[12_345] = 2000 // one point far above the others
	var file bytes.Buffer
	if err := f.PNG(&file); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&file)
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			if img.At(x, y) == color.Color(seriesColors[0]) {
				rows++
				break
			}
		}
	}
	if want := img.Bounds().Dy() / 2; rows < want {
		t.Errorf("the curve is %d pixels high, want at least %d", rows, want)
	}
}
