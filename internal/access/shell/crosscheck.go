package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// findDisagreement returns where the parser of mvdan.cc/sh reads the text otherwise than the recogniser did, -1 if
// nowhere. It is a second opinion: a mistake in the recogniser alone allows nothing.
func findDisagreement(text string, line Line) int {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return 0
	}
	c := &agreement{text: text, commands: line.Commands}
	for _, s := range file.Stmts {
		if s.Semicolon.IsValid() {
			c.compareStatement(s, text[s.Semicolon.Offset():s.Semicolon.Offset()+1])
		} else {
			c.compareStatement(s, "\n")
		}
	}
	if c.at == 0 && len(c.commands) > 0 {
		return 0
	}
	if len(c.commands) > 0 || c.bad {
		return min(c.at, len(text))
	}
	return -1
}

// agreement takes the recogniser's commands off one by one.
type agreement struct {
	text     string
	commands []Command
	at       int // in the text, behind the last command that agrees
	bad      bool
}

// compareStatement compares a statement that ends with the operator.
func (c *agreement) compareStatement(s *syntax.Stmt, operator string) {
	if s.Negated || s.Coprocess || s.Disown || c.bad {
		c.bad = true
		return
	}
	switch cmd := s.Cmd.(type) {
	case *syntax.CallExpr:
		c.compareCall(s, cmd, operator)
	case *syntax.BinaryCmd:
		if len(s.Redirs) > 0 {
			c.bad = true
			return
		}
		c.compareStatement(cmd.X, cmd.Op.String())
		c.compareStatement(cmd.Y, operator)
	default:
		c.bad = true
	}
}

// compareCall compares a simple command.
func (c *agreement) compareCall(s *syntax.Stmt, call *syntax.CallExpr, operator string) {
	if len(c.commands) == 0 {
		c.bad = true
		return
	}
	own := c.commands[0]
	last := len(c.commands) == 1 && own.Operator == "" && operator == "\n"
	if own.Operator != operator && !last ||
		len(call.Args) != len(own.Words) || len(call.Assigns) > 0 || !c.hasSameRedirections(s, own) {
		c.bad = true
		return
	}
	for i, w := range call.Args {
		if c.sourceOf(w) != own.Words[i].Source || !hasSameText(w, own.Words[i]) {
			c.bad = true
			return
		}
	}
	c.at = int(s.End().Offset())
	c.commands = c.commands[1:]
}

// hasSameRedirections compares the redirections to files; those to a descriptor must be >&1 or >&2.
func (c *agreement) hasSameRedirections(s *syntax.Stmt, own Command) bool {
	files := 0
	for _, r := range s.Redirs {
		operator := r.Op.String()
		if r.N != nil && r.N.Value != "1" {
			operator = r.N.Value + operator
		}
		if target := c.sourceOf(r.Word); r.Op == syntax.DplOut {
			if target != "1" && target != "2" || r.N != nil && r.N.Value != "1" && r.N.Value != "2" {
				return false
			}
			continue
		}
		if files >= len(own.Redirections) || own.Redirections[files].Operator != operator || r.Hdoc != nil ||
			c.sourceOf(
				r.Word,
			) != own.Redirections[files].Target.Source || !hasSameText(r.Word, own.Redirections[files].Target) {
			return false
		}
		files++
	}
	return files == len(own.Redirections)
}

func (c *agreement) sourceOf(n syntax.Node) string {
	return c.text[n.Pos().Offset():n.End().Offset()]
}

// hasSameText compares the text of a word without its quotes.
func hasSameText(w *syntax.Word, own Word) bool {
	var b wordBuilder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.addUnquoted(p.Value)
		case *syntax.SglQuoted:
			if p.Dollar {
				return false
			}
			b.text = append(b.text, p.Value...)
		case *syntax.DblQuoted:
			if p.Dollar || !b.addDouble(p.Parts) {
				return false
			}
		default:
			return false
		}
	}
	return string(b.text) == own.Text
}

// addUnquoted adds a literal of the parser, without its backslashes and with a Placeholder for each glob character.
func (b *wordBuilder) addUnquoted(value string) {
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '\\' && i+1 < len(value):
			i++
			b.text = append(b.text, value[i])
		case c == '*' || c == '?':
			b.text = append(b.text, Placeholder[0])
		default:
			b.text = append(b.text, c)
		}
	}
}

// addDouble adds the parts of a word in double quotes.
func (b *wordBuilder) addDouble(parts []syntax.WordPart) bool {
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			for i := 0; i < len(p.Value); i++ {
				if p.Value[i] == '\\' && i+1 < len(p.Value) && strings.IndexByte(`"\$`, p.Value[i+1]) >= 0 {
					i++
				}
				b.text = append(b.text, p.Value[i])
			}
		default:
			return false
		}
	}
	return true
}
