package workpath

import (
	"bytes"
)

// BOM is the byte order mark in UTF-8.
const BOM = "\uFEFF"

// IsBinary reports whether the beginning of a file contains a NUL byte, as no text does.
func IsBinary(p []byte) bool { return bytes.IndexByte(p[:min(len(p), 8192)], 0) >= 0 }

// MediaType returns the media type of an image or a PDF by its first bytes, "" for every other file.
func MediaType(sample []byte) string {
	has := func(at int, magic string) bool {
		return len(sample) >= at+len(magic) && bytes.Equal(sample[at:at+len(magic)], []byte(magic))
	}
	switch {
	case has(0, "\x89PNG\r\n\x1a\n"):
		return "image/png"
	case has(0, "\xff\xd8\xff"):
		return "image/jpeg"
	case has(0, "GIF87a"), has(0, "GIF89a"):
		return "image/gif"
	case has(0, "RIFF") && has(8, "WEBP"):
		return "image/webp"
	case has(0, "%PDF-"):
		return "application/pdf"
	default:
		return ""
	}
}

// CutRunes returns the first n characters of s, and whether it has more.
func CutRunes(s string, n int) (string, bool) {
	if len(s) <= n {
		return s, false
	}
	count := 0
	for i := range s {
		if count == n {
			return s[:i], true
		}
		count++
	}
	return s, false
}

// ChoosePlural returns one for n = 1, else many.
func ChoosePlural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
