package file_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/test/tooltest"
	"github.com/cairn-dev/cairn/internal/tool/file"
)

// encodeNoise returns a PNG that does not compress.
func encodeNoise(t *testing.T, w, h int) string {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range m.Pix {
		m.Pix[i] = byte(rnd.Uint32())
	}
	return encodePNG(t, m)
}

func encodePNG(t *testing.T, m image.Image) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Images are returned within the limits: unchanged if they fit, else scaled down, else refused.
func TestReadFitsImages(t *testing.T) {
	plain := image.NewNRGBA(image.Rect(0, 0, 3000, 90))
	plain.Set(0, 0, color.White)
	for _, c := range []struct {
		name, content string
		limits        file.ImageLimits
		mime          string
		width, height int // 0: unchanged
		fails         string
	}{
		{name: "small", content: encodeNoise(t, 20, 10), mime: "image/png"},
		{name: "wide", content: encodePNG(t, plain), mime: "image/png", width: 2000, height: 60},
		{
			name: "own limits", content: encodeNoise(t, 40, 20), limits: file.ImageLimits{Width: 20}, mime: "image/png",
			width: 20, height: 10,
		},
		{
			name: "too many bytes", content: encodeNoise(t, 200, 200), limits: file.ImageLimits{Base64: 60_000},
			mime: "image/jpeg", width: 200, height: 200,
		},
		{
			name: "far too many bytes", content: encodeNoise(t, 200, 200), limits: file.ImageLimits{Base64: 4000},
			mime: "image/jpeg", width: -1,
		},
		{
			name: "not made smaller", content: encodeNoise(t, 40, 20), limits: file.ImageLimits{Width: 20, Refuse: true},
			fails: "too large to be shown: 40x20 pixels",
		},
		{name: "more pixels than bytes", content: encodeBomb(), fails: "60000x60000 pixels"},
		{name: "damaged", content: "\x89PNG\r\n\x1a\nnothing", mime: "image/png"},
		{
			name: "damaged and large", content: "\x89PNG\r\n\x1a\n" + strings.Repeat("x", 4000),
			limits: file.ImageLimits{Base64: 4000}, fails: "cannot be made smaller",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := tooltest.New(t, func(o *tooltest.Config) { o.File.Images = c.limits })
			b.WriteFile("i.png", c.content)
			s := b.Call("read", tooltest.Input{"filePath": "i.png"})
			if c.fails != "" {
				tooltest.MustContain(t, tooltest.TextOf(s), c.fails)
				return
			}
			if s.Error != nil || len(s.Output.Content) != 2 || s.Output.Content[1].Mime != c.mime {
				t.Fatalf("%s %+v", tooltest.TextOf(s), s.Output.Content)
			}
			uri := strings.TrimPrefix(s.Output.Content[1].URI, "data:"+c.mime+";base64,")
			data, err := base64.StdEncoding.DecodeString(uri)
			if err != nil || c.limits.Base64 > 0 && len(uri) > c.limits.Base64 {
				t.Fatal(err, len(uri))
			}
			if c.width == 0 {
				if string(data) != c.content {
					t.Fatal("changed")
				}
				return
			}
			got, _, err := image.DecodeConfig(bytes.NewReader(data))
			if err != nil || c.width > 0 && (got.Width != c.width || got.Height != c.height) {
				t.Fatal(got, err)
			}
		})
	}
}

// encodeBomb returns the header of a PNG of 60000x60000 pixels.
func encodeBomb() string {
	chunk := []byte("IHDR\x00\x00\xea\x60\x00\x00\xea\x60\x08\x06\x00\x00\x00")
	sum := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(chunk))
	return "\x89PNG\r\n\x1a\n\x00\x00\x00\x0d" + string(chunk) + string(sum)
}
