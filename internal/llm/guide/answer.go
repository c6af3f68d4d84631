package guide

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

const (
	maxCommand = 64 << 10 // bytes of a user's text that is parsed
	maxShown   = 200      // lines of a tool's result in an answer
	maxBegin   = 12       // lines of a file in an overview
)

// mainFiles are the names, in lower case, of the files that say what a project is.
var mainFiles = []string{
	"readme", "readme.md", "readme.txt", "readme.rst", "go.mod", "package.json", "cargo.toml", "pyproject.toml",
	"main.go", "main.py", "index.js",
}

// rule answers the user's texts that match its form, with what is in the parentheses.
type rule struct {
	form   *regexp.Regexp
	answer func(t *task, args []string) string
}

var loadRules = sync.OnceValue(func() []rule {
	const argument = "(\"[^\"]*\"|'[^']*'|`[^`]*`|.+?)"
	form := func(expr string) *regexp.Regexp {
		return regexp.MustCompile(`(?is)^(?:please\s+)?` + strings.ReplaceAll(expr, "_", argument) + `[\s.!?]*$`)
	}
	return []rule{
		{form(`replace\s+_\s+with\s+_\s+in\s+(?:(?:the\s+)?file\s+)?_`), (*task).replace},
		{form(`(?:list|ls)(?:\s+(?:the\s+)?(?:files|directory))?(?:\s+in)?(?:\s+_)?`), func(t *task, args []string) string {
			if args[0] == "" {
				return t.show("list", "", map[string]string{})
			}
			return t.show("list", args[0], map[string]string{"path": args[0]})
		}},
		{
			form(`.*\b(?:what|explain|describe|overview|tell)\b.*\b(?:this|project|repository|repo|directory)\b.*`),
			(*task).describeProject,
		},
		{form(`(?:read|show|cat|open)\s+(?:(?:me\s+)?(?:the\s+)?file\s+)?_`), func(t *task, args []string) string {
			return t.show("read", args[0], map[string]string{"filePath": args[0]})
		}},
		{form(`(?:find|grep|search(?:\s+for)?|where\s+is)\s+_`), func(t *task, args []string) string {
			return t.show("grep", args[0], map[string]string{"pattern": regexp.QuoteMeta(args[0])})
		}},
	}
})

// answer applies the rule for the user's text. It returns the answer, or "" with calls pending: the rule runs from its
// beginning for every request, up to the first outcome that is missing.
func (t *task) answer() string {
	if len(t.text) <= maxCommand {
		for _, r := range loadRules() {
			if args := r.form.FindStringSubmatch(t.text); args != nil {
				for i := range args {
					args[i] = unquote(args[i])
				}
				return r.answer(t, args[1:])
			}
		}
	}
	return "I changed nothing. " + capabilities
}

// show quotes the result of one call, which the answer names with the argument.
func (t *task) show(tool, argument string, args map[string]string) string {
	o, ready := t.callTool(tool, args)
	name := strings.TrimSpace(tool + " " + argument)
	switch {
	case !ready:
		return ""
	case o.failed:
		return fmt.Sprintf("`%s` failed: %s\n", name, quote(o.text))
	}
	return fmt.Sprintf("`%s`:\n\n%s", name, codeBlock(o.text, maxShown))
}

// describeProject lists the directory and quotes the beginnings of its main files.
func (t *task) describeProject([]string) string {
	list, ready := t.callTool("list", map[string]string{})
	if !ready {
		return ""
	}
	if list.failed {
		return fmt.Sprintf("I could not list the directory: %s\n", quote(list.text))
	}
	answer := "The directory:\n\n" + codeBlock(list.text, maxShown)
	for _, want := range mainFiles {
		for name := range strings.Lines(list.text) {
			name, isTop := strings.CutPrefix(strings.TrimRight(name, "\r\n"), "  ")
			if !isTop || strings.ToLower(name) != want {
				continue
			}
			if o, ready := t.callTool("read", map[string]string{"filePath": name}); ready && o.failed {
				answer += fmt.Sprintf("\n`%s` could not be read: %s\n", name, quote(o.text))
			} else if ready {
				answer += fmt.Sprintf("\n`%s` begins:\n\n%s", name, codeBlock(o.text, maxBegin))
			}
		}
	}
	return answer
}

// replace replaces text in a file through the edit tool, which asks for permission, and reports what the tool answered.
// The edit tool accepts only files that were read.
func (t *task) replace(args []string) string {
	read, ready := t.callTool("read", map[string]string{"filePath": args[2]})
	if !ready {
		return ""
	}
	if read.failed {
		return fmt.Sprintf("`%s` could not be read: %s\nI changed nothing.\n", args[2], quote(read.text))
	}
	edit, ready := t.callTool("edit", map[string]string{
		"filePath": args[2], "oldString": args[0], "newString": args[1],
	})
	switch {
	case !ready:
		return ""
	case edit.failed:
		return fmt.Sprintf("I changed nothing; the edit tool answered: %s\n", quote(edit.text))
	}
	return fmt.Sprintf("I replaced `%s` with `%s` in `%s`; the edit tool answered: %s\n",
		args[0], args[1], args[2], quote(edit.text))
}

// unquote removes one pair of quotation marks around s.
func unquote(s string) string {
	if n := len(s); n >= 2 && s[0] == s[n-1] && strings.IndexByte("\"'`", s[0]) >= 0 {
		return s[1 : n-1]
	}
	return s
}

// quote returns the beginning of a tool's message on one line, in quotation marks.
func quote(s string) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > 240 {
		r = append(r[:240], '…')
	}
	return "“" + string(r) + "”"
}

// codeBlock quotes the first lines of a tool's result, without the tags around it, as a Markdown code block whose fence
// does not occur in it.
func codeBlock(text string, most int) string {
	fence, body, shown := "```", "", 0
	for l := range strings.Lines(text) {
		if l = strings.TrimRight(l, "\r\n"); l == "" || strings.HasPrefix(l, "<") {
			continue
		}
		if shown++; shown > most {
			body += "…\n"
			break
		}
		for strings.Contains(l, fence) {
			fence += "`"
		}
		body += l + "\n"
	}
	if body == "" {
		return "(nothing that I can show)\n"
	}
	return fence + "\n" + body + fence + "\n"
}
