package shell

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// wordText is what a program gets for the word, with holes for what only the shell will know.
func wordText(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	if braces(w) {
		return Hole
	}
	var b strings.Builder
	for i, part := range w.Parts {
		if p, ok := part.(*syntax.ParamExp); ok && i == 0 && home(p) {
			b.WriteByte('~')
			continue
		}
		if l, ok := part.(*syntax.Lit); ok {
			if !unquoted(&b, l.Value) { // the rest belongs to a pattern
				break
			}
			continue
		}
		partText(&b, part)
	}
	return holes(b.String())
}

// braces reports that the word has braces that the shell makes several words of.
func braces(w *syntax.Word) bool {
	open := false
	for _, part := range w.Parts {
		l, ok := part.(*syntax.Lit)
		if !ok {
			continue
		}
		for i := 0; i < len(l.Value); i++ {
			switch {
			case l.Value[i] == '\\':
				i++
			case l.Value[i] == '{':
				open = true
			case open && (l.Value[i] == ',' || strings.HasPrefix(l.Value[i:], "..")):
				return true
			}
		}
	}
	return false
}

// home reports whether the expansion is $HOME. Its assignment would be a part of its own.
func home(p *syntax.ParamExp) bool { return plainName(p) == "HOME" }

// plainName is the variable of $name or ${name}, "" of any other expansion.
func plainName(p *syntax.ParamExp) string {
	if p.Param == nil || p.Flags != nil || p.Excl || p.Length || p.Width || p.IsSet || p.NestedParam != nil ||
		p.Index != nil ||
		len(p.Modifiers) > 0 || p.Slice != nil || p.Repl != nil || p.Names != 0 || p.Exp != nil {
		return ""
	}
	return p.Param.Value
}

func partText(b *strings.Builder, part syntax.WordPart) {
	switch p := part.(type) {
	case *syntax.SglQuoted:
		if !p.Dollar {
			b.WriteString(p.Value)
			return
		}
		s, ok := ansi(p.Value)
		if !ok {
			s = Hole
		}
		b.WriteString(s)
	case *syntax.DblQuoted:
		if p.Dollar { // translated by the locale
			b.WriteString(Hole)
			return
		}
		for i, q := range p.Parts {
			switch q := q.(type) {
			case *syntax.Lit:
				doubleQuoted(b, q.Value)
			case *syntax.ParamExp:
				if i == 0 && b.Len() == 0 && home(q) {
					b.WriteByte('~')
					continue
				}
				b.WriteString(Hole)
			default:
				b.WriteString(Hole)
			}
		}
	default:
		b.WriteString(Hole)
	}
}

// unquoted writes a literal outside of quotes: a backslash quotes one character, patterns may become any files. It is
// false when a set of characters begins that does not end within the literal.
func unquoted(b *strings.Builder, s string) bool {
	if s == "[" || s == "[[" || s == "]" || s == "]]" {
		b.WriteString(s)
		return true
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			i++
			if i < len(s) && s[i] != '\n' {
				b.WriteByte(s[i])
			}
		case '*', '?':
			b.WriteString(Hole)
		case '[':
			b.WriteString(Hole)
			end := setEnd(s[i:])
			if end < 0 {
				return false
			}
			i += end
		default:
			b.WriteByte(c)
		}
	}
	return true
}

// setEnd returns the end of the character set that s begins with, as in [!a-z], -1 if it is unknown.
func setEnd(s string) int {
	from := 1
	if from < len(s) && (s[from] == '!' || s[from] == '^') {
		from++
	}
	if from < len(s) && s[from] == ']' {
		from++
	}
	if from >= len(s) || strings.ContainsAny(s[from:], `\\[`) {
		return -1
	}
	end := strings.IndexByte(s[from:], ']')
	if end < 0 {
		return -1
	}
	return from + end
}

func doubleQuoted(b *strings.Builder, s string) {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
			i++
			if s[i] != '\n' {
				b.WriteByte(s[i])
			}
			continue
		}
		b.WriteByte(s[i])
	}
}

// ansi undoes the escapes of $'…'. It says no to what it does not know, and to a NUL, at which bash ends the text.
func ansi(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if j := strings.IndexByte(`abeEfnrtv\'"?`, s[i]); j >= 0 {
			b.WriteByte("\a\b\x1b\x1b\f\n\r\t\v\\'\"?"[j])
			continue
		}
		base, most, from := 16, 0, i+1
		switch s[i] {
		case 'x':
			most = 2
		case 'u':
			most = 4
		case 'U':
			most = 8
		case '0', '1', '2', '3', '4', '5', '6', '7':
			base, most, from = 8, 3, i
		default:
			return "", false
		}
		to := from
		for to < len(s) && to < from+most && digit(s[to], base) {
			to++
		}
		n, err := strconv.ParseUint(s[from:to], base, 32)
		if err != nil || n == 0 {
			return "", false
		}
		if s[i] == 'u' || s[i] == 'U' {
			b.WriteString(string(rune(n)))
		} else {
			b.WriteByte(byte(n))
		}
		i = to - 1
	}
	return b.String(), true
}

func digit(c byte, base int) bool {
	_, err := strconv.ParseUint(string(rune(c)), base, 8)
	return err == nil && c < utf8.RuneSelf
}

// holes makes one of several holes in a row.
func holes(s string) string {
	for strings.Contains(s, Hole+Hole) {
		s = strings.ReplaceAll(s, Hole+Hole, Hole)
	}
	return s
}

func known(s string) bool { return !strings.Contains(s, Hole) }

// unknownOf are the words with holes.
func unknownOf(words []string) []string { return slices.DeleteFunc(slices.Clone(words), known) }

// quote writes a word so that where it ends can be seen.
func quote(s string) string {
	if s == "" {
		return "''"
	}
	if !strings.ContainsAny(s, " \t\r\n\v\f'\"\\;&|<>()") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// quoteName is quote for the name of a program: letters that only look like others have quotes too.
func quoteName(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return quote(s)
}

func quoteAll(words []string) string { return strings.Join(quoteEach(words), " ") }

func quoteEach(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = quote(w)
	}
	return out
}
