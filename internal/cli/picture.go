package cli

import (
	"bufio"
	"image"
	_ "image/jpeg" // photographs
	_ "image/png"
	"os"
)

// readImage reads a photograph to be drawn.
func readImage(path string) (image.Image, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	picture, _, err := image.Decode(bufio.NewReader(f))
	if err != nil {
		return nil, dataf("%s: not a readable picture: %v", path, err)
	}
	return picture, nil
}
