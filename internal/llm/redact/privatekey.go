package redact

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// maxKeyBlock is the largest distance between the lines that begin and end a private key.
const maxKeyBlock = 32 << 10

// maskPrivateKeys removes private keys in PEM, also those whose end was cut off.
func maskPrivateKeys(text []byte) []byte {
	var cuts []cut
	for at := 0; ; {
		// Find the line that begins a key: five dashes on both sides, or four and a blank.
		i := bytes.Index(text[at:], []byte("BEGIN "))
		if i < 0 {
			return maskKeyEnds(maskCuts(text, cuts))
		}
		start := at + i
		at = start + len("BEGIN ")
		label := text[at:min(len(text), start+64)]
		n := bytes.Index(label, []byte("----"))
		isMarked := bytes.HasSuffix(text[:start], []byte("-----")) || bytes.HasSuffix(text[:start], []byte("---- "))
		if n < 0 || !isMarked || !bytes.Contains(label[:n], []byte("PRIVATE KEY")) {
			continue
		}
		body := at + n
		for body < len(text) && text[body] == '-' {
			body++
		}
		// The key ends with its last line, or before the line that ends it.
		headers := lengthOfKeyHeaders(text[body:])
		end := body
		if m := endOfKeyLines(text[body+headers:]); m > 0 {
			end += headers + m
		}
		window := text[body:min(len(text), body+maxKeyBlock)]
		j := bytes.Index(window, []byte("---- END "))
		if k := bytes.Index(window, []byte("-----END ")); k >= 0 {
			j = k
		}
		if j >= headers && endOfKeyLines(window[headers:j]) > 0 {
			end = max(end, body+j)
		}
		if end > body {
			cuts = append(cuts, cut{body, end})
			at = end
		}
	}
}

// lengthOfKeyHeaders returns the length of the lines "Name: value" with which a private key begins.
func lengthOfKeyHeaders(text []byte) (length int) {
	for range 8 {
		// A line begins behind breaks, blanks, and what a tool puts before it.
		i := length
		for i < len(text) && (strings.IndexByte(" \t\r\n\\+-:|"+digits, text[i]) >= 0 || followsEscape(text, i+1)) {
			i++
		}
		name := runLength(text[i:], "-")
		if !bytes.HasPrefix(text[i+name:], []byte(": ")) {
			return length
		}
		rest := text[i+name:]
		n := lengthBefore(rest, "\n")
		if e := bytes.Index(rest[:n], []byte(`\n`)); e >= 0 {
			n = e
		}
		if n > 200 {
			return length
		}
		length = i + name + n
	}
	return length
}

// endOfLine returns the length of the first line of the text, which may be one of JSON.
func endOfLine(text []byte) int {
	line := text[:lengthBefore(text, "\n")]
	return lengthBeforeEscape(line)
}

// maxKeyLines bounds the lines before the one that ends a private key.
const maxKeyLines = 500

// maskKeyEnds removes private keys of which only the end is there, as in a part of a diff: the lines of base64 directly
// before the one that ends a key.
func maskKeyEnds(text []byte) []byte {
	var cuts []cut
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte("---- END ")) // as SSH2 writes it
		if j := bytes.Index(text[at:], []byte("-----END ")); i < 0 || j >= 0 && j < i {
			i = j
		}
		if i < 0 {
			return maskCuts(text, cuts)
		}
		start := at + i
		label := text[start:min(len(text), start+64)]
		if c := findLinesBefore(text, at, start); c.to > c.from && isKeyLabel(label) {
			cuts = append(cuts, c)
		}
		at = start + len("-----END ")
	}
}

// trimEscapedReturn returns a line without the carriage return at its end, if that is escaped once or more, as in JSON.
func trimEscapedReturn(line []byte) []byte {
	before, ok := bytes.CutSuffix(bytes.TrimRight(line, `\`), []byte("r"))
	if !ok || !bytes.HasSuffix(before, []byte(`\`)) {
		return line
	}
	return bytes.TrimRight(before, `\`)
}

// isKeyLabel reports whether a line that ends a block, or its beginning, ends a private key.
func isKeyLabel(label []byte) bool {
	return bytes.Contains(label, []byte("PRIVATE KEY-----")) || bytes.Contains(label, []byte("PRIVATE KEY ----"))
}

// findLinesBefore returns the place of the lines of base64 before the line that end is in, down to from. It is empty if
// none of them is long.
func findLinesBefore(text []byte, from, end int) (c cut) {
	isKey := false
	line := startOfLine(text, from, end)
	for n := 0; n < maxKeyLines && line > from; n++ {
		// Cut off the break, which may be one of JSON, then what a tool puts around the line.
		to := line - 1
		if text[to] != '\n' {
			to--
		}
		start := startOfLine(text, from, to)
		next := start
		if i := bytes.LastIndexByte(text[start:to], '"'); i >= 0 { // the text is a member of JSON, and begins here
			start, next = start+i+1, from
		}
		words := bytes.Trim(trimEscapedReturn(text[start:to]), " \t\r+-:|")
		if number := bytes.IndexAny(words, " \t:|"); number > 0 && len(bytes.Trim(words[:number], digits)) == 0 {
			words = bytes.TrimLeft(words[number:], " \t+-:|"+digits)
		}
		isPart := bytes.HasPrefix(words, []byte("@@ -"))
		isEncoded := runLength(words, "+/=") == len(words) && (len(words) >= 20 || n == 0 && len(words) > 0)
		if !isPart && !isEncoded {
			break
		}
		if isEncoded {
			isKey = isKey || len(words) >= 40
			c = cut{start, max(c.to, to)}
		}
		line = next
	}
	if !isKey {
		return cut{}
	}
	return c
}

// startOfLine returns where the line that ends at end begins: behind a break, which may be one of JSON, or at from.
func startOfLine(text []byte, from, end int) int {
	start := from + bytes.LastIndexByte(text[from:end], '\n') + 1
	if i := bytes.LastIndex(text[start:end], []byte(`\n`)); i >= 0 {
		start += i + len(`\n`)
	}
	return start
}

// findEncodedKey finds a private key in PEM in base64.
func findEncodedKey(text []byte, start, _ int) (cut, bool) {
	n := runLength(text[start:], "+/=")
	head := text[start : start+min(n, 64)]
	plain, _ := base64.StdEncoding.DecodeString(string(head[:len(head)/4*4])) // what can be decoded
	if !bytes.Contains(plain, []byte("PRIVATE KEY")) {
		return cut{}, false
	}
	return cut{start, start + max(n, endOfKeyLines(text[start:]))}, true
}

// findPuTTYKey finds the private lines of a key of PuTTY.
func findPuTTYKey(text []byte, _, next int) (cut, bool) {
	for next < len(text) && strings.IndexByte(digits+" ", text[next]) >= 0 {
		next++
	}
	n := endOfKeyLines(text[next:])
	return cut{next, next + n}, n > 0
}

// keyHeaders are the words of the headers of an encrypted key.
const keyHeaders = "Proc Type ENCRYPTED DEK Info AES CBC DES EDE3"

// endOfKeyLines returns the end of the last line of base64 of a private key, or 0 without such a line. Line
// numbers, quotes, escapes and the headers of an encrypted key may stand between the lines.
func endOfKeyLines(text []byte) (end int) {
	const line = 20
	for i := 0; i < len(text); {
		if bytes.HasPrefix(text[i:], []byte("@@ -")) { // of a diff whose parts are of one key
			i += endOfLine(text[i:])
			continue
		}
		if !isAlphanumeric(text[i]) && text[i] != '+' && text[i] != '/' {
			i++
			continue
		}
		n := runLength(text[i:], "+/=")
		word := string(text[i : i+n])
		switch {
		case n >= line:
			end = i + n
		case end > 0 && strings.HasSuffix(word, "="): // the last line
			return i + n
		case strings.Trim(word, "0123456789+nrt") != "" && !strings.Contains(keyHeaders, word):
			return end
		}
		i += n
	}
	return end
}
