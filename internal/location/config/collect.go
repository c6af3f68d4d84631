package config

import (
	"context"
	"path/filepath"

	"github.com/cairn-dev/cairn/internal/location/config/document"
)

// collectDocuments reads the documents of sources. A file is read once, at its first position, so that the user's own
// configuration keeps its scope if its directory is also the project.
func (l *loader) collectDocuments(ctx context.Context, sources []source) ([]*document.Document, error) {
	var docs []*document.Document
	for _, s := range sources {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		// A folder of Markdown files is one source for each of its files.
		if s.part != "" && s.entry == "" {
			more, err := l.collectDocuments(ctx, l.listMarkdown(s))
			if err != nil {
				return nil, err
			}
			docs = append(docs, more...)
			continue
		}
		// Read the file. A missing one is no error unless a variable names it.
		raw, err := l.readFile(s.path)
		if isMissing(err) && !s.required {
			continue
		}
		// Not readable, but optional: warn and go on. An agent whose file cannot be read is disabled.
		if err != nil && (s.isOptional(err) || s.entry != "") {
			l.addWarning(document.Position{File: s.path}, WarnUnread, "", "is not read: "+pathlessError(err))
			docs = append(docs, disableAgent(&document.Document{Name: s.path, Layer: s.layer, Part: s.part, Entry: s.entry})...)
			continue
		}
		// Not readable and needed: an error, which is kept if the caller wants all of them.
		if err != nil {
			problem := pathlessError(err)
			if s.required {
				problem += "; CAIRN_CONFIG names this file"
			}
			if err := l.keepError(&document.Error{Position: document.Position{File: s.path}, Message: problem}); err != nil {
				return nil, err
			}
			continue
		}
		// Leave out a file that was read before under another name.
		if !l.isFirstRead(s.path) {
			continue
		}
		docs = append(docs, &document.Document{
			Name: s.path, Dir: filepath.Dir(s.path), Layer: s.layer, Part: s.part, Entry: s.entry,
			Foreign: l.isOpenCodeFile(s.path), Text: raw,
		})
	}
	return docs, nil
}

// isFirstRead reports whether the file was not read before under any name, and marks it as read.
func (l *loader) isFirstRead(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	was := l.seen[real]
	l.seen[real] = true
	return !was
}
