package search

import (
	"bufio"
	"bytes"
	"io"
	"testing"
	"testing/iotest"
	"unicode/utf16"
	"unicode/utf8"
)

// The result equals that of the standard library's decoder, whatever the sizes of the reads.
func FuzzWideText(f *testing.F) {
	for _, s := range []string{
		"", "a\x00", "a\x00b", "\x3d\xd8\x00\xde", "\x3d\xd8a\x00", "\x3d\xd8", "\x3d\xd8\x00", "\x00\xdc\x3d\xd8",
		"\x00\x00",
	} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, raw []byte, big bool) {
		var units []uint16
		for i := 0; i+1 < len(raw); i += 2 {
			low, high := raw[i], raw[i+1]
			if big {
				low, high = high, low
			}
			units = append(units, uint16(high)<<8|uint16(low))
		}
		want := string(utf16.Decode(units))
		if len(raw)%2 == 1 {
			want += string(utf8.RuneError)
		}
		for name, src := range map[string]io.Reader{
			"whole": bytes.NewReader(raw), "byte by byte": iotest.OneByteReader(bytes.NewReader(raw)),
			"with its end": iotest.DataErrReader(bytes.NewReader(raw)),
		} {
			if got, err := io.ReadAll(newUTF16Reader(src, big)); err != nil || string(got) != want {
				t.Errorf("%s: %q, %v, want %q", name, got, err, want)
			}
		}
	})
}

func TestSkipBOM(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a": "a", "\xff": "\xff", "\xff\xfe": "", "\xff\xfea\x00": "a", "\xfe\xff\x00a": "a", "\xef\xbb\xbfa": "a",
		"\xff\xfe\xff\xfea\x00": "a", "\xef\xbb": "\xef\xbb",
	} {
		got, err := io.ReadAll(skipBOM(bufio.NewReader(bytes.NewReader([]byte(text)))))
		if err != nil || string(got) != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}
