package file

import (
	"bytes"
	"encoding/base64"
	"image"
	_ "image/gif" // registers the decoder
	"image/jpeg"
	"image/png"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp"

	"github.com/cairn-dev/cairn/internal/tool"
)

// ImageLimits bound an image that the model gets. Zero fields mean the defaults.
type ImageLimits struct {
	Width, Height int  // pixels; default 2000
	Base64        int  // bytes in base64; default 5 MiB
	Refuse        bool // refuse a larger image instead of scaling it down
}

const (
	maxPixels   = 50_000_000 // of an image that is decoded
	maxShrinks  = 32
	shrinkRatio = 0.75
)

func (l ImageLimits) withDefaults() ImageLimits {
	for _, d := range []struct {
		field *int
		value int
	}{{&l.Width, 2000}, {&l.Height, 2000}, {&l.Base64, 5 << 20}} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	return l
}

func (l ImageLimits) fitsLimit(data []byte) bool {
	return base64.StdEncoding.EncodedLen(len(data)) <= l.Base64
}

// fitImage returns the image within the limits; if it exceeds them, scaled down and re-encoded. An image that cannot be
// decoded is returned as it is if it is short enough.
func (l ImageLimits) fitImage(name string, data []byte, mime string) ([]byte, string, error) {
	about, _, err := image.DecodeConfig(bytes.NewReader(data))
	switch {
	case err != nil && l.fitsLimit(data):
		return data, mime, nil
	case err != nil:
		return nil, "", tool.Failf(
			"%s is too large to be shown (more than %d bytes in base64) and cannot be made smaller: %v.", name, l.Base64, err,
		)
	case about.Width <= l.Width && about.Height <= l.Height && l.fitsLimit(data):
		return data, mime, nil
	case l.Refuse:
		return nil, "", tool.Failf("%s is too large to be shown: %dx%d pixels, %d bytes. "+
			"The limits are %dx%d pixels and %d bytes in base64.",
			name, about.Width, about.Height, len(data), l.Width, l.Height, l.Base64)
	case about.Width*about.Height > maxPixels || about.Width < 1 || about.Height < 1:
		return nil, "", tool.Failf(
			"%s has %dx%d pixels; more than %d million are not made smaller. Use a command.", name, about.Width, about.Height,
			maxPixels/1_000_000,
		)
	}
	full, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, "", tool.Failf("%s is too large to be shown and cannot be made smaller: %v.", name, err)
	}
	return l.shrinkImage(name, full)
}

// shrinkImage scales the image into the limits, and further down until one of the encodings is short enough.
func (l ImageLimits) shrinkImage(name string, full image.Image) ([]byte, string, error) {
	size := full.Bounds().Size()
	ratio := min(1, float64(l.Width)/float64(size.X), float64(l.Height)/float64(size.Y))
	for range maxShrinks {
		small := image.NewNRGBA(image.Rect(0, 0, max(1, int(float64(size.X)*ratio)), max(1, int(float64(size.Y)*ratio))))
		draw.CatmullRom.Scale(small, small.Bounds(), full, full.Bounds(), draw.Src, nil)
		for _, quality := range []int{0, 80, 85, 70, 55, 40} {
			data, mime, err := encodeImage(small, quality)
			if err != nil {
				return nil, "", tool.Failf("%s cannot be made smaller: %v.", name, err)
			}
			if l.fitsLimit(data) {
				return data, mime, nil
			}
		}
		ratio *= shrinkRatio
	}
	return nil, "", tool.Failf("%s cannot be made small enough to be shown.", name)
}

// encodeImage encodes a JPEG of the given quality, or a PNG for quality 0.
func encodeImage(m image.Image, quality int) ([]byte, string, error) {
	var b bytes.Buffer
	if quality == 0 {
		err := png.Encode(&b, m)
		return b.Bytes(), "image/png", err
	}
	err := jpeg.Encode(&b, m, &jpeg.Options{Quality: quality})
	return b.Bytes(), "image/jpeg", err
}
