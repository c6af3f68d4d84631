package config

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/cairn-dev/cairn/internal/config/document"
)

var reference = regexp.MustCompile(`\{(env|file):([^{}]*)\}`)

// substituteReferences replaces {env:NAME} in the texts below n by the variable and {file:path} by the trimmed content
// of the file. It is called for the user's own documents, and for trusted documents of organisations, which may name
// their own token only. A project's references are never expanded: a repository could read any secret.
func (l *loader) substituteReferences(n *document.Node, path string) error {
	for _, m := range n.Members {
		if err := l.substituteReferences(m.Value, document.JoinKey(path, m.Key)); err != nil {
			return err
		}
	}
	for i, item := range n.Items {
		if err := l.substituteReferences(item, document.JoinKey(path, fmt.Sprint(i))); err != nil {
			return err
		}
	}
	if n.Kind != '"' || !strings.Contains(n.Text, "{") {
		return nil
	}
	var failed error
	n.Text = reference.ReplaceAllStringFunc(n.Text, func(ref string) string {
		kind, name, _ := strings.Cut(ref[1:len(ref)-1], ":")
		switch {
		case n.Doc.Remote != nil && (kind != "env" || name != n.Doc.Remote.Env):
			l.addWarning(
				n.FindPosition(),
				WarnIgnored,
				path,
				"names a variable or file other than the login's token and is not expanded",
			)
			return ref
		case kind == "env":
			v := l.variableValue(n, path, name)
			l.config.references = append(l.config.references, referenceValue{path + "." + name, v})
			return v
		}
		content, err := l.fileContent(n, path, name)
		if err != nil {
			failed = err
		}
		l.config.references = append(l.config.references, referenceValue{path, content})
		return content
	})
	return failed
}

func (l *loader) variableValue(n *document.Node, path, name string) string {
	v := l.getenv(name)
	if n.Doc.Remote != nil || v == "" {
		v = l.loginToken(name)
	}
	if v == "" {
		l.addWarning(
			n.FindPosition(),
			WarnUnset,
			path,
			fmt.Sprintf("names the environment variable %s, which is not set", name),
		)
	}
	return v
}

func (l *loader) fileContent(n *document.Node, path, name string) (string, error) {
	file := l.expandPath(name, n.Doc.Dir)
	raw, err := l.readFile(file)
	if err != nil {
		return "", n.Doc.NewError(n.Offset, path, "{file:%s}: %s", name, pathlessError(err))
	}
	return strings.TrimSpace(string(raw)), nil
}

// warnReferences reports references in a project's document, which are not expanded.
func (l *loader) warnReferences(n *document.Node, path string) {
	for _, m := range n.Members {
		l.warnReferences(m.Value, document.JoinKey(path, m.Key))
	}
	for i, item := range n.Items {
		l.warnReferences(item, document.JoinKey(path, fmt.Sprint(i)))
	}
	if n.Kind == '"' && reference.MatchString(n.Text) {
		l.addWarning(
			n.FindPosition(),
			WarnIgnored,
			path,
			"names a variable or file and is not expanded: only your own configuration may do that",
		)
	}
}

// loginToken returns the token of the login whose variable has that name, or "".
func (l *loader) loginToken(name string) string {
	for _, r := range l.opts.Remotes {
		if r.Env == name && name != "" {
			return r.Token.Reveal()
		}
	}
	return ""
}
