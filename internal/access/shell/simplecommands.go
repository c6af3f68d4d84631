package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxParentheses bounds those of a text that FindCommands parses, which takes time by the square of their number.
const maxParentheses = 4000

// FindCommands returns the texts of the simple commands anywhere in a text, also in loops, functions and substitutions,
// with their words joined by blanks, without quotes where a word is literal. It returns none if the text is no script
// of bash or is too long. It serves rules that deny or ask, and is no boundary: what an expansion becomes, and what a
// program runs, is not in the text.
func FindCommands(text string) (found []string) {
	// Bound the time that the parser takes.
	if len(text) > maxLine || strings.Contains(text, Placeholder) || strings.Count(text, "(") > maxParentheses {
		return nil
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil
	}
	// Collect each command once, in the order of the text.
	known := map[string]bool{}
	syntax.Walk(file, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			words := make([]string, len(call.Args))
			for i, w := range call.Args {
				words[i] = literalText(text, w)
			}
			if command := strings.Join(words, " "); !known[command] {
				known[command] = true
				found = append(found, command)
			}
		}
		return true
	})
	return found
}

// literalText returns the text of a word without its quotes, or its source if a part is not literal.
func literalText(text string, w *syntax.Word) string {
	var b wordBuilder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.addUnquoted(p.Value)
		case *syntax.SglQuoted:
			b.text = append(b.text, p.Value...)
		case *syntax.DblQuoted:
			if !b.addDouble(p.Parts) {
				return text[w.Pos().Offset():w.End().Offset()]
			}
		default:
			return text[w.Pos().Offset():w.End().Offset()]
		}
	}
	return string(b.text)
}
