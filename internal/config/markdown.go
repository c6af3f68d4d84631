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

// The parts of a configuration that can be Markdown files, each with the folders it is looked for in. What a file's
// frontmatter says are the fields of an agent or a command; the text is the prompt or the template.
const (
	partAgent   = "agent"
	partMode    = "mode" // the older way to write an agent that people select
	partCommand = "command"
)

const (
	maxMarkdown = 512 // files of one folder
	maxFolders  = 64  // below one folder
)

// markdown reads a Markdown file into d.root, as the object that JSON would have for it.
func (d *document) markdown() error {
	f, err := frontmatter.Read(d.text)
	if e, ok := errors.AsType[*frontmatter.Error](err); ok {
		return &Error{Place{File: d.name, Line: e.Line}, "", "the frontmatter cannot be read: " + e.Message}
	}
	fields := d.fromYAML(f.Fields)
	if f.Body != "" {
		text := &node{kind: '"', raw: quote(nil, f.Body), text: f.Body, doc: d, offset: d.offset(f.BodyLine, 1)}
		if d.part == partCommand {
			fields.set("template", text)
		} else {
			fields.set("prompt", text)
		}
	}
	d.root = d.object(fields, d.part, d.object(fields, d.entry, fields))
	return nil
}

func (d *document) fromYAML(v frontmatter.Value) *node {
	n := &node{kind: v.Kind, raw: v.JSON, text: v.Text, doc: d, offset: d.offset(v.Line, v.Column)}
	for _, m := range v.Members {
		n.members = append(n.members, member{m.Key, d.offset(m.Line, m.Column), d.fromYAML(m.Value)})
	}
	for _, item := range v.Items {
		n.items = append(n.items, d.fromYAML(item))
	}
	return n
}

// offset finds the byte at line and column.
func (d *document) offset(line, column int) int {
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

// markdowns lists the Markdown files of a part below a folder, by name, each with the name of what it defines: its path
// below the folder, without the ending.
func (l *loader) markdowns(s source) []source {
	var out []source
	folders := 0
	var walk func(dir, prefix string)
	walk = func(dir, prefix string) {
		l.stamp(dir)
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
				l.warn(Place{File: path}, WarnIgnored, "", "is not read: there are more files than one folder may have")
				return
			case isMarkdown && entry != "" && l.within(s.scope, path):
				out = append(out, source{path: path, scope: s.scope, part: s.part, entry: prefix + entry})
			}
		}
	}
	walk(s.path, "")
	slices.SortStableFunc(out, func(a, b source) int { return strings.Compare(a.entry, b.entry) })
	return out
}

// within reports whether a document may be read: a project's files do not lead out of it, to what is the user's own.
func (l *loader) within(sc scope, path string) bool {
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
	l.warn(Place{File: path}, WarnIgnored, "", "is not read: it leads out of the project")
	return false
}
