package redact

import (
	"bytes"
	"strings"
)

// findElementSecret finds the secret in an element of XML with the name of a secret, <password>SECRET</password>, or in
// the text behind such a key in a property list, <key>password</key><string>SECRET</string>.
func findElementSecret(text []byte, _, next int) (cut, bool) {
	name, from := readElement(text, next-1)
	if from < 0 {
		return cut{}, false
	}
	if name == "key" {
		end := from + lengthBefore(text[from:min(len(text), from+maxName)], "<")
		name = string(text[from:end])
		if !bytes.HasPrefix(text[end:], []byte("</key>")) {
			return cut{}, false
		}
		end += len("</key>")
		// Breaks, and what a diff or a tool puts before a line, may be between them.
		isBlank := func(i int) bool {
			return strings.IndexByte(" \t\r\n\\+-:|"+digits, text[i]) >= 0 || followsEscape(text, i+1)
		}
		for end < len(text) && isBlank(end) {
			end++
		}
		var kind string
		if kind, from = readElement(text, end); kind != "string" {
			return cut{}, false
		}
	}
	if from < 0 || !isAssignedSecret(name, FoldName(name)) {
		return cut{}, false
	}
	c := cut{from, from + lengthBefore(text[from:], "<>\"'`\\\t\r\n")}
	value := text[c.from:c.to]
	if bytes.IndexByte(value, ' ') >= 0 {
		return c, bytes.HasPrefix(text[c.to:], []byte("</")) && isPasswordName(FoldName(name)) && isPassphrase(string(value))
	}
	return c, bytes.HasPrefix(text[c.to:], []byte("</")) && isWritten(value)
}

// readElement returns the name of the element that begins at i, without that of its space, and where its content begins;
// -1 if none begins there.
func readElement(text []byte, i int) (name string, content int) {
	if i < 0 || i >= len(text) || text[i] != '<' {
		return "", -1
	}
	i++
	n := runLength(text[i:min(len(text), i+maxName)], "_-.:")
	if n == 0 || i+n >= len(text) || text[i+n] != '>' {
		return "", -1
	}
	name = string(text[i : i+n])
	return name[strings.LastIndexByte(name, ':')+1:], i + n + 1
}

// findAttributeSecret finds the secret in an element whose attributes name and contain it:
// <add key="Password" value="SECRET"/>.
func findAttributeSecret(text []byte, start, next int) (cut, bool) {
	tag := text[max(0, start-maxCommand):start]
	tag = tag[bytes.LastIndexByte(tag, '<')+1:]
	for _, attribute := range []string{" key=", " name="} {
		i := bytes.Index(tag, []byte(attribute))
		if i < 0 {
			continue
		}
		c := readValue(tag, i+len(attribute))
		if name := string(tag[c.from:c.to]); isAssignedSecret(name, FoldName(name)) {
			c = readValue(text, next)
			return c, c.from > next && isWritten(text[c.from:c.to])
		}
	}
	return cut{}, false
}

// isWritten reports whether a value is written out and no label: it has more than letters.
func isWritten(value []byte) bool {
	return len(value) >= 6 && isLiteral(value) && !isPath(string(value)) && len(bytes.Trim(value, letters+"_-./:")) > 0
}

// findCookieLine finds the value of a line of a file of cookies, whose fields are separated by tabs: the host, whether
// others are meant, the path, whether it is TLS, the time, the name and the value. It begins at the second field.
func findCookieLine(text []byte, start, next int) (cut, bool) {
	line := text[start : next+lengthBefore(text[next:], "\r\n\"")]
	tab := "\t"
	if bytes.Contains(line, []byte(`\t`)) { // in JSON
		tab = `\t`
		line = line[:lengthBeforeEscape(line)]
	}
	fields := bytes.Split(line, []byte(tab))
	if !bytes.HasSuffix(text[:start], []byte(tab)) || len(fields) != 6 || !bytes.HasPrefix(fields[1], []byte("/")) ||
		len(bytes.Trim(fields[3], digits)) > 0 || len(fields[5]) < minValue {
		return cut{}, false
	}
	end := start + len(line)
	return cut{end - len(fields[5]), end}, isLiteral(fields[5])
}

// lengthBeforeEscape returns the length of a line of JSON, up to an escaped line break.
func lengthBeforeEscape(line []byte) int {
	for _, end := range []string{`\n`, `\r`} {
		if i := bytes.Index(line, []byte(end)); i >= 0 {
			line = line[:i]
		}
	}
	return len(line)
}
