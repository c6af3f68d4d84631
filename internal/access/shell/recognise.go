package shell

import (
	"strings"
	"unicode/utf8"
)

// maxLine bounds the lines that are read, in bytes.
const maxLine = 64 << 10

// Parse reads a command line that bash, dash and other POSIX shells understand in the same way. The error is a
// *NotPlainError and names the first part that is not plain enough: what is left out is refused, never guessed.
func Parse(text string) (Line, error) {
	r := &recogniser{text: text}
	if len(text) > maxLine {
		return Line{}, r.refuseAt(maxLine, "too much text", "write a script file and run that")
	}
	for i := 0; i < len(text); i++ {
		if c := text[i]; c == 0x7f || c < ' ' && c != '\n' && c != '\t' {
			return Line{}, r.refuseAt(i, "a control character", "leave it out")
		}
	}
	if !utf8.ValidString(text) {
		return Line{}, r.refuseAt(0, "text that is not UTF-8", adviceFile)
	}
	line, err := r.readLine()
	if err != nil {
		return Line{}, err
	}
	if at := findDisagreement(text, line); at >= 0 {
		return Line{}, r.refuseAt(at, "something that shells may read in different ways", adviceCommand)
	}
	return line, nil
}

// readLine reads commands and the operators between them.
func (r *recogniser) readLine() (line Line, err error) {
	r.skipLines()
	for r.at < len(r.text) {
		c, err := r.readCommand()
		if err != nil {
			return Line{}, err
		}
		needs := c.Operator == "|" || c.Operator == "&&" || c.Operator == "||"
		line.Commands = append(line.Commands, c)
		r.skipLines()
		if needs && r.at == len(r.text) {
			return Line{}, r.refuseAt(r.at, "an operator without a command behind it", adviceCommand)
		}
	}
	if len(line.Commands) == 0 {
		return Line{}, r.refuseAt(0, "no command", adviceCommand)
	}
	return line, nil
}

// skipLines skips blanks, newlines and comments before a command.
func (r *recogniser) skipLines() {
	for r.at < len(r.text) && (isBlank(r.peekByte(0)) || r.peekByte(0) == '\n' || r.peekByte(0) == '#') {
		if r.peekByte(0) == '#' {
			r.skipComment()
			continue
		}
		r.at++
	}
}

// skipComment skips the rest of the line.
func (r *recogniser) skipComment() {
	if i := strings.IndexByte(r.text[r.at:], '\n'); i >= 0 {
		r.at += i
		return
	}
	r.at = len(r.text)
}

// skipBlanks skips blanks, and a backslash before the end of a line that follows a blank.
func (r *recogniser) skipBlanks() (continued bool) {
	for {
		switch {
		case isBlank(r.peekByte(0)):
			r.at++
			continued = false
		case r.peekByte(0) == '\\' && r.peekByte(1) == '\n' && r.at > 0 && isBlank(r.text[r.at-1]):
			r.at += 2
			return r.skipContinued()
		default:
			return continued
		}
	}
}

// skipContinued skips the blanks at the beginning of a continued line.
func (r *recogniser) skipContinued() bool {
	r.skipBlanks()
	return true
}

// readCommand reads one simple command and the operator behind it.
func (r *recogniser) readCommand() (c Command, err error) {
	// The text of the command ends with its last word or redirection, without a comment behind it.
	start, end := r.at, r.at
	for {
		continued := r.skipBlanks()
		// # begins a comment; at the start of a continued line it is refused below.
		switch b := r.peekByte(0); {
		case b == '#' && !continued:
			r.skipComment()
			continue
		case r.at == len(r.text) || strings.IndexByte(";&|\n", b) >= 0:
			c.Text = r.text[start:end]
			if len(c.Words) == 0 {
				return c, r.refuseAt(r.at, "a separator or an assignment without a command", adviceCommand)
			}
			c.Operator, err = r.readOperator()
			return c, err
		case b == '<' || b == '>':
			err = r.readRedirection(&c, "")
		default:
			err = r.readArgument(&c)
		}
		if err != nil {
			return c, err
		}
		end = r.at
	}
}

// readOperator reads the operator between two commands.
func (r *recogniser) readOperator() (string, error) {
	at := r.at
	for _, op := range []string{"&&", "||", "|&", "&>", ";;", ";&", "|", ";", "&", "\n"} {
		if !strings.HasPrefix(r.text[at:], op) {
			continue
		}
		switch op {
		case "|&", "&>":
			return "", r.refuseAt(at, "the redirection "+op, "write 2>&1")
		case ";;", ";&":
			return "", r.refuseAt(at, "the operator "+op, advicePlain)
		case "&":
			return "", r.refuseAt(at, "a command in the background (&)", "use the parameter background of the tool")
		}
		r.at += len(op)
		return op, nil
	}
	return "", nil
}

// readArgument reads a word: an assignment, an argument, or the number of a redirection.
func (r *recogniser) readArgument(c *Command) error {
	start := r.at
	w, err := r.readWord()
	if err != nil {
		return err
	}
	// Digits directly before a redirection are its descriptor, unless they are quoted, which is refused.
	next := r.peekByte(0)
	if isDigits(w.Text) && (next == '<' || next == '>') {
		if w.Source != "1" && w.Source != "2" {
			return r.refuseAt(start, "a redirection of another file descriptor than 1 and 2", "use > or 2> with a file name")
		}
		return r.readRedirection(c, w.Source)
	}
	// Behind the command name every word is an argument.
	if len(c.Words) > 0 {
		c.Words = append(c.Words, w)
		return nil
	}
	// The command name: refuse what bash would not run as a program of this name.
	if name := assignedName(w.Source); name != "" {
		return r.refuseAt(start, "the assignment of "+name, "leave it out and write values where they are used")
	}
	if w.Text != "" && strings.IndexByte("%-+", w.Text[0]) >= 0 {
		return r.refuseAt(start, "a command that begins with %, - or +", adviceCommand)
	}
	if isReserved(w.Text) {
		return r.refuseAt(start, "the shell keyword "+w.Text, advicePlain)
	}
	c.Words = append(c.Words, w)
	return nil
}

// readRedirection reads a redirection of the descriptor: "" for the usual one, 1 or 2.
// The file name joins the command's Redirections, whose permission is asked for. Every form that the recogniser does
// not model exactly as bash does is refused: a wrong guess would hide a file from the rules.
func (r *recogniser) readRedirection(c *Command, descriptor string) error {
	// The command name must come first, so that Words[0] is always the program.
	start := r.at
	if len(c.Words) == 0 {
		return r.refuseAt(start, "a redirection before the command", "write the command first")
	}
	rest := r.text[start:]
	operator := rest[:1]
	// Refuse the operators with other meanings; the longer ones are tested before the shorter ones that they begin
	// with.
	switch {
	case strings.HasPrefix(rest, "<<"):
		return r.refuseAt(start, "a here-document or here-string", adviceFile)
	case strings.HasPrefix(rest, "<("), strings.HasPrefix(rest, ">("):
		return r.refuseAt(start, "a process substitution", adviceSplit)
	case strings.HasPrefix(rest, "<>"),
		strings.HasPrefix(rest, "<&"),
		strings.HasPrefix(rest, ">|"),
		operator == "<" && descriptor != "":
		return r.refuseAt(start, "the redirection "+descriptor+rest[:min(2, len(rest))], "use < > or >> with a file name")
	// >&1 and >&2 duplicate a descriptor and name no file, so nothing is recorded. More characters would be a file
	// name.
	case strings.HasPrefix(rest, ">&"):
		if len(rest) < 3 || rest[2] != '1' && rest[2] != '2' ||
			len(rest) > 3 && strings.IndexByte(" \t\n;&|", rest[3]) < 0 {
			return r.refuseAt(start, "the redirection >& to something else than 1 or 2", "use > with a file name")
		}
		r.at += 3
		return nil
	case strings.HasPrefix(rest, ">>"):
		operator = ">>"
	}
	// Step behind the operator and blanks to the file name.
	r.at += len(operator)
	for isBlank(r.peekByte(0)) {
		r.at++
	}
	target := r.at
	if r.at == len(r.text) || strings.IndexByte(";&|<>\n#", r.peekByte(0)) >= 0 {
		return r.refuseAt(start, "a redirection without a file name", "write the file name behind it")
	}
	// The name is a word with the same rules as an argument.
	w, err := r.readWord()
	if err != nil {
		return err
	}
	// Digits directly before < or > are a descriptor in bash, not a name.
	if next := r.peekByte(0); isDigits(w.Source) && (next == '<' || next == '>') {
		return r.refuseAt(target, "two redirections without a blank between them", "write a blank before each")
	}
	// A pattern may expand to any file; network devices of bash and the empty name are no files.
	if !w.Literal {
		return r.refuseAt(target, "a redirection to a pattern", "write the file name")
	}
	if strings.HasPrefix(w.Text, "/dev/tcp") || strings.HasPrefix(w.Text, "/dev/udp") || w.Text == "" {
		return r.refuseAt(target, "a redirection to something else than a file", "use a file name")
	}
	// 1> is the same as >.
	if descriptor == "1" {
		descriptor = ""
	}
	c.Redirections = append(c.Redirections, Redirection{Operator: descriptor + operator, Target: w})
	return nil
}

// assignedName returns NAME if the source of a word is NAME=VALUE or NAME+=VALUE, else "".
func assignedName(source string) string {
	name, _, ok := strings.Cut(source, "=")
	name = strings.TrimSuffix(name, "+")
	if !ok || !isName(name) {
		return ""
	}
	return name
}

func isName(s string) bool {
	for i := range len(s) {
		if !isNameByte(s[i]) || i == 0 && s[i] >= '0' && s[i] <= '9' {
			return false
		}
	}
	return s != ""
}

// isReserved reports whether a shell takes the word for a keyword at the beginning of a command. Quoted keywords and
// those of other shells are included, so that no shell is meant.
func isReserved(word string) bool {
	switch word {
	case "!", "{", "}", "[[", "]]", "if", "then", "else", "elif", "fi", "for", "foreach", "while", "until", "do",
		"done", "case", "esac", "select", "function", "time", "coproc", "in", "end", "repeat", "declare",
		"typeset", "local", "export", "readonly", "nameref", "let":
		return true
	}
	return false
}
