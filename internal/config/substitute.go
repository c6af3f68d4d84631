package config

import (
	"fmt"
	"regexp"
	"strings"
)

var reference = regexp.MustCompile(`\{(env|file):([^{}]*)\}`)

// substitute replaces {env:NAME} and {file:path} in the texts below n: by the variable, by the file's content without
// surrounding space. Only a user's own documents come here (spec/guarantees S11), and trusted ones
// of organisations for their own token: in a project's they stay as they are.
func (l *loader) substitute(n *node, path string) error {
	for _, m := range n.members {
		if err := l.substitute(m.value, join(path, m.key)); err != nil {
			return err
		}
	}
	for i, item := range n.items {
		if err := l.substitute(item, join(path, fmt.Sprint(i))); err != nil {
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
			l.warn(n.place(), WarnIgnored, path, "names a variable or file that is not the login's token: it stays as written")
			return ref
		case kind == "env":
			return l.variable(n, path, name)
		}
		content, err := l.contentOf(n, path, name)
		if err != nil {
			failed = err
		}
		return content
	})
	return failed
}

func (l *loader) variable(n *node, path, name string) string {
	v := l.getenv(name)
	if n.doc.remote != nil || v == "" {
		v = l.token(name)
	}
	if v == "" {
		l.warn(n.place(), WarnUnset, path, fmt.Sprintf("names the environment variable %s, which is not set", name))
	}
	return v
}

func (l *loader) contentOf(n *node, path, name string) (string, error) {
	file := l.expand(name, n.doc.dir)
	raw, err := l.read(file)
	if err != nil {
		return "", n.doc.errorf(n.offset, path, "{file:%s}: %s", name, reason(err))
	}
	return strings.TrimSpace(string(raw)), nil
}

// warnReferences reports texts of a project's document that look as if they expected substitution.
func (l *loader) warnReferences(n *node, path string) {
	for _, m := range n.members {
		l.warnReferences(m.value, join(path, m.key))
	}
	for i, item := range n.items {
		l.warnReferences(item, join(path, fmt.Sprint(i)))
	}
	if n.kind == '"' && reference.MatchString(n.text) {
		l.warn(n.place(), WarnIgnored, path, "names a variable or file, which only your own configuration may: it stays as written")
	}
}
