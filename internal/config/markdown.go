package config

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/frontmatter"
)

// The parts of a configuration that can be Markdown files. A file's frontmatter has the fields of an agent or command;
// its body is the prompt or template.
const (
	partAgent   = "agent"
	partMode    = "mode" // the older form of a primary agent
	partCommand = "command"
)

const (
	maxMarkdown = 512 // files of one folder
	maxFolders  = 64  // below one folder
)

// parseMarkdown reads a Markdown file into d.root, in the form that JSON would have.
func (d *document) parseMarkdown() error {
	f, err := frontmatter.Read(d.text)
	if e, ok := errors.AsType[*frontmatter.Error](err); ok {
		return &Error{Position{File: d.name, Line: e.Line}, "", "invalid frontmatter: " + e.Message}
	}
	fields := d.fromYAML(f.Fields)
	if f.Body != "" {
		text := &node{kind: '"', raw: quote(nil, f.Body), text: f.Body, doc: d, offset: d.offsetOf(f.BodyLine, 1)}
		if d.part == partCommand {
			fields.set("template", text)
		} else {
			fields.set("prompt", text)
		}
	}
	d.root = d.wrapNode(fields, d.part, d.wrapNode(fields, d.entry, fields))
	return nil
}

func (d *document) fromYAML(v frontmatter.Value) *node {
	n := &node{kind: v.Kind, raw: v.JSON, text: v.Text, doc: d, offset: d.offsetOf(v.Line, v.Column)}
	for _, m := range v.Members {
		n.members = append(n.members, member{m.Key, d.offsetOf(m.Line, m.Column), d.fromYAML(m.Value)})
	}
	for _, item := range v.Items {
		n.items = append(n.items, d.fromYAML(item))
	}
	return n
}

// offsetOf returns the byte offset of line and column.
func (d *document) offsetOf(line, column int) int {
	at := 0
	for ; line > 1; line-- {
		next := bytes.IndexByte(d.text[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
	}
	for i := range string(d.text[at:]) {
		if column--; column == 0 {
			return at + i
		}
	}
	return at
}

// listMarkdown returns the Markdown files of a part below a folder, sorted. Each defines an entry named by its path
// below the folder without the extension.
func (l *loader) listMarkdown(s source) []source {
	var out []source
	folders := 0
	var walk func(dir, prefix string)
	walk = func(dir, prefix string) {
		l.addStamp(dir)
		entries, err := os.ReadDir(dir)
		if folders++; err != nil || folders > maxFolders {
			return
		}
		for _, e := range entries {
			name, path := e.Name(), filepath.Join(dir, e.Name())
			switch entry, isMarkdown := strings.CutSuffix(name, ".md"); {
			case e.IsDir():
				walk(path, prefix+name+"/")
			case isMarkdown && len(out) == maxMarkdown:
				l.addWarning(Position{File: path}, WarnIgnored, "", "is not read: the folder has too many files")
				return
			case isMarkdown && entry != "" && l.staysInProject(s.scope, path):
				out = append(out, source{path: path, scope: s.scope, part: s.part, entry: prefix + entry})
			}
		}
	}
	walk(s.path, "")
	slices.SortStableFunc(out, func(a, b source) int { return strings.Compare(a.entry, b.entry) })
	return out
}

// staysInProject reports whether a document may be read: a project's file must not be a link to a file outside of it.
func (l *loader) staysInProject(sc scope, path string) bool {
	if sc != scopeProject {
		return true
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if _, inside := l.inProject(real); err == nil && inside {
		return true
	}
	l.addWarning(Position{File: path}, WarnIgnored, "", "is not read: it leads out of the project")
	return false
}
