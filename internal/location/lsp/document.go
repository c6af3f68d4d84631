package lsp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/fileuri"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

const (
	maxDocuments = 32      // open at a time in a server; the least recently used one is closed for another
	maxDocument  = 4 << 20 // bytes of a file that is sent
	maxChanges   = 1000    // files in one notification
)

// documents are the files that are open in a server.
type documents struct {
	lock chan struct{} // held while files are read and sent, so that versions are sent in order; guards all below
	open map[string]*document
	uses int64
}

// document is the state of a file as the server knows it.
type document struct {
	version int
	digest  [sha256.Size]byte
	end     Position // after its last character, in the server's encoding
	size    int64
	changed time.Time // the modification time
	used    int64
}

func (d *documents) init() { d.lock, d.open = make(chan struct{}, 1), map[string]*document{} }

// acquire locks the documents. It returns false when ctx ends or the connection has ended.
func (c *client) acquire(ctx context.Context) bool {
	select {
	case c.documents.lock <- struct{}{}:
		return true
	case <-ctx.Done():
	case <-c.conn.ended():
	}
	return false
}

func (c *client) release() { <-c.documents.lock }

// send makes the server know files as they are on disk, and open documents that have changed. It returns the versions
// of those files that exist and can be sent.
func (c *client) send(ctx context.Context, paths []string) (versions map[string]int) {
	versions = map[string]int{}
	if !c.acquire(ctx) {
		return versions
	}
	defer c.release()
	for _, path := range paths {
		if version, ok := c.sendFile(path, true); ok {
			versions[path] = version
		}
	}
	for path, d := range c.documents.open {
		if _, sent := versions[path]; !sent && d.isStale(path) {
			c.sendFile(path, false)
		}
	}
	return versions
}

// isStale reports whether the file may differ from what was sent.
func (d *document) isStale(path string) bool {
	info, err := os.Stat(path)
	return err != nil || info.Size() != d.size || !info.ModTime().Equal(d.changed)
}

// sendFile opens a document, or sends its change if there is one. A file that is missing or too large is closed.
func (c *client) sendFile(path string, use bool) (version int, ok bool) {
	// A file that is gone, or too large, is closed.
	text, info, err := readDocument(path)
	d := c.documents.open[path]
	if err != nil {
		if d != nil {
			c.closeDocument(path)
		}
		if os.IsNotExist(err) {
			c.diagnostics.forget(path)
			c.notifyFiles([]string{path})
		}
		return 0, false
	}
	if use {
		c.documents.uses++
	}
	// Open it, or send the change.
	digest := sha256.Sum256([]byte(text))
	if d == nil {
		c.closeLeastUsed()
		d = &document{}
		c.documents.open[path] = d
		c.notifyFiles([]string{path})
		c.diagnostics.expect(path)
		_ = c.conn.notify("textDocument/didOpen", object{"textDocument": object{
			"uri": fileuri.Format(path), "languageId": languageOf(path), "version": 0, "text": text,
		}})
	} else if d.digest != digest {
		d.version++
		c.notifyFiles([]string{path})
		c.diagnostics.expect(path)
		c.sendChange(path, d, text)
	}
	// Remember what was sent.
	d.digest, d.size, d.changed, d.used = digest, info.Size(), info.ModTime(), c.documents.uses
	d.end = splitLines(text).end(c.capabilities.encoding)
	return d.version, true
}

// sendChange sends the new text of a document in the form that the server wants.
func (c *client) sendChange(path string, d *document, text string) {
	document := object{"uri": fileuri.Format(path), "version": d.version}
	change := object{"text": text}
	if c.capabilities.change == syncIncremental {
		change["range"] = Range{End: d.end}
	}
	if c.capabilities.change != syncNone {
		params := object{"textDocument": document, "contentChanges": []object{change}}
		_ = c.conn.notify("textDocument/didChange", params)
	}
	if c.capabilities.save {
		saved := object{"textDocument": object{"uri": fileuri.Format(path)}}
		if c.capabilities.saveText {
			saved["text"] = text
		}
		_ = c.conn.notify("textDocument/didSave", saved)
	}
}

// closeLeastUsed closes documents until another one can be opened.
func (c *client) closeLeastUsed() {
	for len(c.documents.open) >= maxDocuments {
		oldest := ""
		for path, d := range c.documents.open {
			if oldest == "" || d.used < c.documents.open[oldest].used {
				oldest = path
			}
		}
		c.closeDocument(oldest)
	}
}

func (c *client) closeDocument(path string) {
	delete(c.documents.open, path)
	c.diagnostics.release(path)
	_ = c.conn.notify("textDocument/didClose", object{"textDocument": object{"uri": fileuri.Format(path)}})
}

// notifyFiles tells the server that files on disk were created, changed or removed. The lock of the documents is held.
func (c *client) notifyFiles(paths []string) {
	changes := []object{}
	for _, path := range paths[:min(len(paths), maxChanges)] {
		kind := fileCreated // a server that knows the file takes it as a change
		if _, err := os.Stat(path); os.IsNotExist(err) {
			kind = fileDeleted
		} else if c.documents.open[path] != nil && c.documents.open[path].version > 0 {
			kind = fileChanged
		}
		changes = append(changes, object{"uri": fileuri.Format(path), "type": kind})
	}
	_ = c.conn.notify("workspace/didChangeWatchedFiles", object{"changes": changes})
}

// noteChanged tells the server of files that something else than a tool changed, and sends those that are open.
func (c *client) noteChanged(ctx context.Context, paths []string) {
	if !c.acquire(ctx) {
		return
	}
	defer c.release()
	var closed []string
	for _, path := range paths {
		if c.documents.open[path] != nil {
			c.sendFile(path, false)
		} else if _, ok := workpath.RelativeTo(c.root, path); ok {
			closed = append(closed, path)
		}
	}
	if len(closed) > 0 {
		c.notifyFiles(closed)
	}
}

// listOpen returns the open documents, at most n, the last used ones first.
func (c *client) listOpen(ctx context.Context, n int) (paths []string) {
	if !c.acquire(ctx) {
		return nil
	}
	defer c.release()
	for path := range c.documents.open {
		paths = append(paths, path)
	}
	open := c.documents.open
	slices.SortFunc(paths, func(a, b string) int { return cmp.Compare(open[b].used, open[a].used) })
	return paths[:min(len(paths), n)]
}

// readDocument returns the text of a regular file, without a byte order mark.
func readDocument(path string) (string, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxDocument { // a pipe would block
		return "", nil, fs.ErrInvalid
	}
	f, err := os.Open(path)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxDocument))
	if err != nil {
		return "", nil, err
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(data), "\uFFFD"), workpath.BOM), info, nil
}
