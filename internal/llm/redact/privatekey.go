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
			return maskCuts(text, cuts)
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
		for i < len(text) && (strings.IndexByte(" \t\r\n\\+:"+digits, text[i]) >= 0 || followsEscape(text, i+1)) {
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
