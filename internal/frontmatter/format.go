package frontmatter

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Field is a key and its text, for Format. Bare text is a number, or true or false.
type Field struct {
	Key, Text string
	Bare      bool
}

var (
	plainText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9/._-]*$`)
	yamlWords = []string{"true", "false", "yes", "no", "on", "off", "y", "n", "null"}
)

// Format writes a file that Read reads back: the fields in order, those without text left out, and the body.
func Format(fields []Field, body string) []byte {
	b := []byte("---\n")
	for _, f := range fields {
		if f.Text == "" {
			continue
		}
		b = append(append(b, f.Key...), ": "...)
		if f.Bare || plainText.MatchString(f.Text) && !slices.Contains(yamlWords, strings.ToLower(f.Text)) {
			b = append(b, f.Text...)
		} else { // Go's escapes are YAML's too
			b = strconv.AppendQuoteToGraphic(b, strings.ToValidUTF8(f.Text, "\uFFFD"))
		}
		b = append(b, '\n')
	}
	b = append(b, "---\n"...)
	if body = strings.TrimSpace(body); body != "" {
		b = append(append(append(b, '\n'), body...), '\n')
	}
	return b
}
