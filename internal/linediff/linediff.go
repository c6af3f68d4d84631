// Package linediff shows the difference between two contents of a file in lines.
package linediff

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"znkr.io/diff"
	"znkr.io/diff/textdiff"
)

// MaxText bounds the contents that are compared in lines, together. Larger ones count as binary.
const MaxText = 4 << 20

// probed is the number of bytes of a content that are searched for a zero byte, as git does.
const probed = 8000

// IsBinary reports whether a content is shown without lines.
func IsBinary(content []byte) bool {
	return bytes.IndexByte(content[:min(len(content), probed)], 0) >= 0
}

// Diff is the difference between two contents. The zero value is that of binary contents.
type Diff struct {
	Additions, Deletions int
	Hunks                string // in unified form, without a header; "" if nothing differs

	replaced bool // bytes of Hunks that were no UTF-8 are replaced
}

// Compare compares two contents, with that many lines around each change; negative shows the whole text.
func Compare(before, after []byte, context int) Diff {
	if IsBinary(before) || IsBinary(after) || len(before)+len(after) > MaxText || bytes.Equal(before, after) {
		return Diff{}
	}
	if context < 0 {
		context = bytes.Count(before, []byte("\n")) + bytes.Count(after, []byte("\n")) + 2
	}
	text := string(textdiff.Unified(before, after, diff.Context(context)))
	d := Diff{Hunks: strings.ToValidUTF8(zeroEmptyRanges(text), "\uFFFD"), replaced: !utf8.ValidString(text)}
	for line := range strings.Lines(text) {
		switch line[0] {
		case '+':
			d.Additions++
		case '-':
			d.Deletions++
		}
	}
	return d
}

// zeroEmptyRanges lets an empty range begin at line 0, as patch(1) and git write it. Only the first hunk can have one,
// for an empty text.
func zeroEmptyRanges(hunks string) string {
	header, rest, _ := strings.Cut(hunks, "\n")
	header = strings.Replace(header, "@@ -1,0 +", "@@ -0,0 +", 1)
	header = strings.Replace(header, " +1,0 @@", " +0,0 @@", 1)
	return header + "\n" + rest
}

// FormatPatch returns the difference with the header of OpenCode's patches.
func (d Diff) FormatPatch(path string) string {
	if d.Hunks == "" {
		return ""
	}
	return fmt.Sprintf("Index: %s\n%s\n--- %s\t\n+++ %s\t\n%s", path, strings.Repeat("=", 67), path, path, d.Hunks)
}

// File is one side of a difference in git's form. A zero mode: there is no file.
type File struct {
	Blob string // 40 hexadecimal digits
	Mode uint32
}

// FormatGit returns the difference in git's form; of binary contents that they differ. An absolute path loses its first
// slash, as git writes it.
func (d Diff) FormatGit(path string, before, after File) string {
	var b strings.Builder
	// The header says what happened to the file; an unchanged mode is shown in the index line.
	path = strings.TrimPrefix(path, "/")
	from, to := quoteName("a/"+path), quoteName("b/"+path)
	fmt.Fprintf(&b, "diff --git %s %s\n", from, to)
	mode := ""
	switch {
	case before.Mode == 0:
		fmt.Fprintf(&b, "new file mode %06o\n", after.Mode)
		from = "/dev/null"
	case after.Mode == 0:
		fmt.Fprintf(&b, "deleted file mode %06o\n", before.Mode)
		to = "/dev/null"
	case before.Mode != after.Mode:
		fmt.Fprintf(&b, "old mode %06o\nnew mode %06o\n", before.Mode, after.Mode)
	default:
		mode = fmt.Sprintf(" %06o", after.Mode)
	}
	// Equal contents: only the mode changed.
	if before.Blob == after.Blob {
		return b.String()
	}
	// Every changed content has an index line, also an empty or a binary one.
	fmt.Fprintf(&b, "index %s..%s%s\n", shortenID(before.Blob), shortenID(after.Blob), mode)
	switch {
	case before.Mode == 0 && after.Blob == emptyBlob, after.Mode == 0 && before.Blob == emptyBlob:
		return b.String() // it has no lines
	case d.Hunks == "", d.replaced: // lines with other bytes would be no patch
		fmt.Fprintf(&b, "Binary files %s and %s differ\n", from, to)
		return b.String()
	}
	fmt.Fprintf(&b, "--- %s\n+++ %s\n%s", endName(from), endName(to), omitSingleCounts(d.Hunks))
	return b.String()
}

// emptyBlob is the id of an empty content.
const emptyBlob = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"

// quoteName quotes a name with control characters, quotes or backslashes as git does: as in C, with octal numbers.
// Other characters stay as they are (core.quotePath=false); other bytes are octal numbers.
func quoteName(name string) string {
	var b strings.Builder
	for at := 0; at < len(name); {
		c := name[at]
		if r, n := utf8.DecodeRuneInString(name[at:]); n > 1 {
			b.WriteRune(r)
			at += n
			continue
		}
		at++
		switch i := strings.IndexByte("\a\b\t\n\v\f\r\"\\", c); {
		case i >= 0:
			b.WriteByte('\\')
			b.WriteByte(`abtnvfr"\`[i])
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	if b.Len() == len(name) {
		return name
	}
	return `"` + b.String() + `"`
}

// endName ends a name with a space in a header line, as git does: patch(1) cuts names at a space.
func endName(name string) string {
	if strings.Contains(name, " ") && name[0] != '"' {
		return name + "\t"
	}
	return name
}

// shortenID returns the beginning of a blob's id, zeros for no blob.
func shortenID(blob string) string {
	const digits = 7
	if len(blob) < digits {
		return strings.Repeat("0", digits)
	}
	return blob[:digits]
}

// omitSingleCounts omits the count of a range of one line, as git does.
func omitSingleCounts(hunks string) string {
	var b strings.Builder
	for line := range strings.Lines(hunks) {
		if strings.HasPrefix(line, "@@ ") {
			line = strings.ReplaceAll(line, ",1 ", " ")
		}
		b.WriteString(line)
	}
	return b.String()
}
