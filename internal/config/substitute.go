package config

import (
	"fmt"
	"regexp"
	"strings"
)

var reference = regexp.MustCompile(`\{(env|file):([^{}]*)\}`)

// substituteReferences replaces {env:NAME} in the texts below n by the variable and {file:path} by the trimmed content
// of the file. It is called for the user's own documents, and for trusted documents of organisations, which may name
// their own token only. A project's references are never expanded: a repository could read any secret.
func (l *loader) substituteReferences(n *node, path string) error {
	for _, m := range n.members {
		if err := l.substituteReferences(m.value, join(path, m.key)); err != nil {
			return err
		}
	}
	for i, item := range n.items {
		if err := l.substituteReferences(item, join(path, fmt.Sprint(i))); err != nil {
			return err
		}
	}
	if n.kind != '"' || !strings.Contains(n.text, "{") {
		return nil
	}
	var failed error
	n.text = reference.ReplaceAllStringFunc(n.text, func(ref string) string {
		kind, name, _ := strings.Cut(ref[1:len(ref)-1], ":")
		switch {
		case n.doc.remote != nil && (kind != "env" || name != n.doc.remote.Env):
			l.addWarning(
				n.position(),
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

// referenceValue is the value of a reference in the configuration.
type referenceValue struct {
	path  string // with the name of the variable
	value string
}

func (l *loader) variableValue(n *node, path, name string) string {
	v := l.getenv(name)
	if n.doc.remote != nil || v == "" {
		v = l.loginToken(name)
	}
	if v == "" {
		l.addWarning(
			n.position(),
			WarnUnset,
			path,
			fmt.Sprintf("names the environment variable %s, which is not set", name),
		)
	}
	return v
}

func (l *loader) fileContent(n *node, path, name string) (string, error) {
	file := l.expandPath(name, n.doc.dir)
	raw, err := l.readFile(file)
	if err != nil {
		return "", n.doc.newError(n.offset, path, "{file:%s}: %s", name, pathlessError(err))
	}
	return strings.TrimSpace(string(raw)), nil
}

// warnReferences reports references in a project's document, which are not expanded.
func (l *loader) warnReferences(n *node, path string) {
	for _, m := range n.members {
		l.warnReferences(m.value, join(path, m.key))
	}
	for i, item := range n.items {
		l.warnReferences(item, join(path, fmt.Sprint(i)))
	}
	if n.kind == '"' && reference.MatchString(n.text) {
		l.addWarning(
			n.position(),
			WarnIgnored,
			path,
			"names a variable or file and is not expanded: only your own configuration may do that",
		)
	}
}
