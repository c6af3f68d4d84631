package config

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/location/config/document"
)

var reference = regexp.MustCompile(`\{(env|file):([^{}]*)\}`)

// substituteReferences replaces {env:NAME} in the texts below n by the variable and {file:path} by the trimmed content
// of the file. It is called for the user's own documents, and for trusted documents of organisations, which may name
// their own token only.
func (l *loader) substituteReferences(n *document.Node, path string) error {
	// Descend first. A removed value changes the lists, so copies of them are ranged over.
	for _, m := range slices.Clone(n.Members) {
		if err := l.substituteReferences(m.Value, document.JoinKey(path, m.Key)); err != nil {
			return err
		}
	}
	for i, item := range slices.Clone(n.Items) {
		if err := l.substituteReferences(item, document.JoinKey(path, fmt.Sprint(i))); err != nil {
			return err
		}
	}
	// Only texts have references.
	if n.Kind != '"' || !strings.Contains(n.Text, "{") {
		return nil
	}
	var failed error
	text := reference.ReplaceAllStringFunc(n.Text, func(ref string) string {
		kind, name, _ := strings.Cut(ref[1:len(ref)-1], ":")
		// An organisation may read its own token and nothing else of this machine.
		switch {
		case n.Doc.Remote != nil && (kind != "env" || name != n.Doc.Remote.Env):
			l.addWarning(
				n.FindPosition(),
				WarnIgnored,
				path,
				"names a variable or file other than the login's token and is not expanded",
			)
			return ref
		// A variable. Its value is recorded, so that it is hidden wherever the configuration is shown.
		case kind == "env":
			v := l.variableValue(n, path, name)
			l.config.references = append(l.config.references, referenceValue{path + "." + name, v})
			return v
		}
		// A file, recorded in the same way.
		content, err := l.fileContent(n, path, name)
		if err != nil {
			failed = err
		}
		l.config.references = append(l.config.references, referenceValue{path, content})
		return content
	})
	// Replace the whole text, or leave the value out if a file cannot be read.
	if failed == nil {
		n.Text = text
	} else if failed = l.leaveOut(n.Doc, failed, n); failed == nil {
		removeValue(n.Doc, n)
	}
	return failed
}

func (l *loader) variableValue(n *document.Node, path, name string) string {
	v := l.getenv(name)
	if n.Doc.Remote != nil || v == "" {
		v = l.loginToken(name)
	}
	if v == "" && !isUnused(path) {
		l.addWarning(
			n.FindPosition(),
			WarnUnset,
			path,
			fmt.Sprintf("names the environment variable %s, which is not set", name),
		)
	}
	return v
}

// isUnused reports whether the dotted path begins with a key that has no effect.
func isUnused(path string) bool {
	key, _, _ := strings.Cut(path, ".")
	fields, _, _ := fieldsOf(reflect.TypeFor[Settings]())
	return fields[key].unused
}

func (l *loader) fileContent(n *document.Node, path, name string) (string, error) {
	file := l.expandPath(name, n.Doc.Dir)
	raw, err := l.readFile(file)
	if err != nil {
		return "", n.Doc.NewError(n.Offset, path, "{file:%s}: %s", name, pathlessError(err))
	}
	return strings.TrimSpace(string(raw)), nil
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
