package shell

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// wordBuilder collects a word.
type wordBuilder struct {
	text []byte
	glob bool
}

func (b *wordBuilder) addLiteral(c byte) { b.text = append(b.text, c) }

func (b *wordBuilder) buildWord(source string) Word {
	return Word{Text: string(b.text), Source: source, Literal: !b.glob}
}

// readWord reads the word at the position. It ends before a blank, a newline, an operator or a redirection.
func (r *recogniser) readWord() (Word, error) {
	var b wordBuilder
	start := r.at
	for r.at < len(r.text) && strings.IndexByte(" \t\n;&|<>", r.peekByte(0)) < 0 {
		if err := r.readPart(&b, start); err != nil {
			return Word{}, err
		}
	}
	return b.buildWord(r.text[start:r.at]), nil
}

// readPart reads the next character or quotation of a word that begins at start. It refuses expansions.
// What it adds to b is the text that bash passes to the command; a pattern adds Placeholder and marks the word as a
// glob.
func (r *recogniser) readPart(b *wordBuilder, start int) error {
	switch c := r.peekByte(0); c {
	case '\'':
		return r.readSingle(b)
	case '"':
		return r.readDouble(b)
	case '$':
		return r.refuseVariable()
	// A backslash makes one printable character literal. Before a line end it would join lines.
	case '\\':
		if next := r.peekByte(1); next < ' ' || next > '~' || next == '$' {
			return r.refuseAt(r.at, `a backslash before something else than a character`, "join the lines or "+adviceQuote)
		}
		b.addLiteral(r.peekByte(1))
		r.at += 2
	// A pattern may expand to a file whose name begins with a hyphen, which the command would take as an option.
	case '*', '?':
		if len(b.text) == 0 || b.text[0] == '-' {
			return r.refuseAt(r.at, "a pattern that may become an option", "begin it with ./")
		}
		b.glob = true
		b.text = append(b.text, Placeholder[0])
		r.at++
	case '~':
		return r.readTilde(b, start)
	case '{':
		return r.readBraces(b)
	// Within a word # is a character. At its start and behind a quotation it is refused, since it may begin a
	// comment.
	case '#':
		if r.at > start && (r.text[r.at-1] == '\'' || r.text[r.at-1] == '"' || r.text[r.at-1] == '\\') ||
			r.at == start {
			return r.refuseAt(r.at, "the character # behind a quotation", adviceQuote)
		}
		b.addLiteral(c)
		r.at++
	default:
		return r.readPlain(b, start)
	}
	return nil
}

// readPlain reads a character outside of quotes that stands for itself.
func (r *recogniser) readPlain(b *wordBuilder, start int) error {
	c := r.peekByte(0)
	switch {
	case c == '`':
		return r.refuseAt(r.at, "a command substitution with `", adviceSplit)
	case c == '(' || c == ')':
		return r.refuseAt(r.at, "a parenthesis (a subshell, function or pattern)", "leave it out, or "+adviceQuote)
	case c == '[' && !r.isBracketWord(start):
		return r.refuseAt(r.at, "a pattern with [", "name the files, or "+adviceQuote)
	case c == '}':
		return r.refuseAt(r.at, "a brace", adviceQuote)
	case c >= utf8.RuneSelf:
		return r.refuseAt(r.at, "a character outside of ASCII that is not quoted", adviceQuote)
	}
	b.addLiteral(c)
	r.at++
	return nil
}

// isBracketWord reports whether the [ at the position is a word of its own.
func (r *recogniser) isBracketWord(start int) bool {
	next := r.peekByte(1)
	return r.at == start && (next == 0 || isBlank(next))
}

// readTilde reads a ~ behind other characters. At the beginning of a word and of a value it is a home directory.
func (r *recogniser) readTilde(b *wordBuilder, start int) error {
	if r.at == start || !isNameByte(r.text[r.at-1]) && strings.IndexByte("^@.-/}", r.text[r.at-1]) < 0 {
		return r.refuseAt(r.at, "a ~ that stands for a home directory", "write the path, or "+adviceQuote)
	}
	b.addLiteral('~')
	r.at++
	return nil
}

// readBraces reads {} and {NUMBER}, which no shell expands.
func (r *recogniser) readBraces(b *wordBuilder) error {
	inner, _, ok := strings.Cut(r.text[r.at+1:], "}")
	if !ok || inner != "" && !isDigits(inner) {
		return r.refuseAt(r.at, "a brace (an expansion or a group)", "write the words one by one, or "+adviceQuote)
	}
	for _, c := range []byte("{" + inner + "}") {
		b.addLiteral(c)
	}
	r.at += len(inner) + 2
	return nil
}

// readSingle reads '...'.
func (r *recogniser) readSingle(b *wordBuilder) error {
	inner, _, ok := strings.Cut(r.text[r.at+1:], "'")
	if !ok {
		return r.refuseAt(r.at, "a single quote without its end", "close it")
	}
	if err := r.checkQuoted(inner, r.at+1); err != nil {
		return err
	}
	for i := range len(inner) {
		b.addLiteral(inner[i])
	}
	r.at += len(inner) + 2
	return nil
}

// checkQuoted refuses invisible characters in quotes.
func (r *recogniser) checkQuoted(inner string, at int) error {
	i := strings.IndexFunc(inner, func(c rune) bool {
		return c > unicode.MaxASCII && !unicode.IsGraphic(c) || c == utf8.RuneError
	})
	if i >= 0 {
		return r.refuseAt(at+i, "an invisible character", "leave it out")
	}
	return nil
}

// readDouble reads "..." with characters and the escapes \" and \\.
func (r *recogniser) readDouble(b *wordBuilder) error {
	start := r.at
	for r.at++; r.at < len(r.text); {
		switch c := r.peekByte(0); {
		case c == '"':
			inner := r.text[start+1 : r.at]
			r.at++
			return r.checkQuoted(inner, start+1)
		case c == '`':
			return r.refuseAt(r.at, "a command substitution with `", adviceSplit)
		case c == '$':
			return r.refuseVariable()
		case c == '\\':
			if err := r.readEscape(b); err != nil {
				return err
			}
		default:
			b.addLiteral(c)
			r.at++
		}
	}
	return r.refuseAt(start, "a double quote without its end", "close it")
}

// readEscape reads a backslash in double quotes.
func (r *recogniser) readEscape(b *wordBuilder) error {
	next := r.peekByte(1)
	if next < ' ' || next > '~' || next == '`' || next == '$' || r.text[r.at-1] >= utf8.RuneSelf {
		return r.refuseAt(r.at, "a backslash before something else than a character", "use single quotes")
	}
	if next != '"' && next != '\\' {
		b.addLiteral('\\')
	}
	b.addLiteral(next)
	r.at += 2
	return nil
}

// refuseVariable refuses a $, with words for what it begins.
func (r *recogniser) refuseVariable() error {
	switch r.peekByte(1) {
	case '(':
		return r.refuseAt(r.at, "a command substitution or arithmetic $(...)", adviceSplit)
	case '{':
		return r.refuseAt(r.at, "an expansion ${...}", adviceValue)
	}
	return r.refuseAt(r.at, "a $ outside of single quotes", adviceValue)
}
