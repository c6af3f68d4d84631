package config

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/trust"
	"github.com/cairn-dev/cairn/internal/location/config/document"
)

// projectText matches the keys of a project's document in which {file:path} names a text of the project, and
// projectValue those that are left out if they hold another reference: its characters are no model and no prompt.
var (
	projectText  = regexp.MustCompile(`^(agent\..+\.(prompt|description)|command\..+\.(template|description))$`)
	projectValue = regexp.MustCompile(`^(agent|command|instructions)\.|^(model|small_model|default_agent)$`)
)

// projectReferences are those of a project's document.
type projectReferences struct {
	l *loader
	d *document.Document
}

// expandTexts reads {file:path} in the texts of a project's agents and commands, as their Markdown files are
// read. Variables, and files outside of the project, are not expanded: a repository could read any secret.
func (r projectReferences) expandTexts(n *document.Node, path string) {
	// Descend first, over copies, since values may be removed.
	for _, m := range slices.Clone(n.Members) {
		r.expandTexts(m.Value, document.JoinKey(path, m.Key))
	}
	for i, item := range slices.Clone(n.Items) {
		r.expandTexts(item, document.JoinKey(path, fmt.Sprint(i)))
	}
	if n.Kind != '"' || !reference.MatchString(n.Text) {
		return
	}
	// A text for a model: expand it, or leave it out with a warning.
	if projectText.MatchString(path) {
		text, err := r.readTexts(n.Text)
		if err == nil {
			n.Text = text
			return
		}
		r.d.Root.RemoveNode(n)
		r.l.addWarning(n.FindPosition(), WarnUnread, path, "is left out: "+err.Error())
		return
	}
	// A value with another use: leave it out rather than use it with the reference in it.
	if projectValue.MatchString(path) && !strictKey.MatchString(path) && r.d.Root.RemoveNode(n) {
		r.l.addWarning(n.FindPosition(), WarnUnread, path, "is left out: it "+notExpanded)
	}
}

const notExpanded = "names a variable or file and is not expanded: only your own configuration may do that"

// warnUnexpanded reports references in other values of a project's document, which are not expanded.
func (r projectReferences) warnUnexpanded(n *document.Node, path string) {
	for _, m := range n.Members {
		r.warnUnexpanded(m.Value, document.JoinKey(path, m.Key))
	}
	for i, item := range n.Items {
		r.warnUnexpanded(item, document.JoinKey(path, fmt.Sprint(i)))
	}
	if n.Kind == '"' && reference.MatchString(n.Text) && !projectText.MatchString(path) {
		r.l.addWarning(n.FindPosition(), WarnIgnored, path, notExpanded)
	}
}

// readTexts returns the text with each {file:path} replaced by that file of the project.
func (r projectReferences) readTexts(text string) (out string, failed error) {
	out = reference.ReplaceAllStringFunc(text, func(ref string) string {
		kind, name, _ := strings.Cut(ref[1:len(ref)-1], ":")
		rel, inside := r.l.inProject(r.l.expandPath(name, r.d.Dir))
		if kind == "env" || !inside || r.d.Remote != nil {
			failed = fmt.Errorf("%s is not expanded: a project's text may name files of the project only", ref)
			return ""
		}
		raw, err := r.readFile(rel)
		if err != nil {
			failed = fmt.Errorf("%s: %s", ref, pathlessError(err))
		}
		return strings.TrimSpace(string(raw))
	})
	return out, failed
}

// readFile returns a file below the project's root, which no link leaves. A file that was hashed for a claim has
// the bytes of the claim.
func (r projectReferences) readFile(rel string) ([]byte, error) {
	r.l.addStamp(filepath.Join(r.l.root(), rel))
	if c := r.l.config.Claim; c != nil && slices.ContainsFunc(c.Files, func(f trust.File) bool { return f.Path == rel }) {
		return c.Read(rel)
	}
	root, err := os.OpenRoot(r.l.root())
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(rel)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > document.MaxSize) {
		err = errNoFile
	}
	if err != nil {
		return nil, err
	}
	return root.ReadFile(rel)
}
