package snapshot

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cairn-dev/cairn/internal/checkout"
	"github.com/cairn-dev/cairn/internal/session"
)

// gitTree captures a git repository with an index of its own. Its git directory has no references and no history:
// what it needs to last is in Blobs.
type gitTree struct {
	gitDir
	options    Options
	repository checkout.Checkout

	ready   bool   // prepare succeeded
	rebuilt bool   // captureTree has removed the index and repeats itself
	last    string // the tree of the newest capture, "" before the first one
	tight   *permissions
}

// findTight implements capturer.
func (g *gitTree) findTight(name string, ended time.Time) uint32 {
	if g.tight == nil { // no capture could read them
		return 0
	}
	return g.tight.find(name, ended)
}

// readPermissions notes the permissions of the files of the index, which are not listed while they are unchanged.
func (g *gitTree) readPermissions(ctx context.Context) {
	tight := newPermissions()
	listed, err := g.run(ctx, nil, "ls-files", "-z")
	if err != nil {
		return // the capture fails as well
	}
	for name := range strings.SplitSeq(string(listed), "\x00") {
		if info, err := os.Lstat(filepath.Join(g.root, filepath.FromSlash(name))); err == nil && name != "" {
			tight.noteFile(name, info)
		}
	}
	g.tight = tight
}

func newGitTree(o Options, root string, repository checkout.Checkout) *gitTree {
	own := gitDir{program: o.Git, dir: filepath.Join(o.Dir, "git"), root: root}
	return &gitTree{gitDir: own, options: o, repository: repository}
}

// usesSHA256 reports whether the repository's object ids are SHA-256: those of Blobs are SHA-1.
func usesSHA256(c checkout.Checkout) bool {
	return strings.Contains(strings.ToLower(c.ReadSettings()), "objectformat = sha256")
}

// gitConfig is the whole configuration of the git directory.
const gitConfig = `[core]
	repositoryFormatVersion = 0
	bare = false
	autocrlf = false
	safecrlf = false
	symlinks = true
	quotePath = false
	fsmonitor = false
	untrackedCache = false
	hooksPath = /dev/null
	excludesFile = /dev/null
	attributesFile = /dev/null
	alternateRefsCommand = false
[gc]
	auto = 0
[index]
	version = 2
`

// noFilters is the content of info/attributes. It takes precedence over .gitattributes in the worktree, so that no
// filter converts contents.
const noFilters = "* -text -filter -ident -working-tree-encoding -eol\n"

// prepare creates the git directory, again if it was removed meanwhile, and makes it usable after a crash. Its index
// begins as a copy of the repository's, so that the first capture does not read every file.
func (g *gitTree) prepare(ctx context.Context) error {
	// It is checked each time: the directory may have been removed while the process runs.
	if _, err := os.Stat(filepath.Join(g.dir, "HEAD")); g.ready && err == nil {
		return nil
	}
	// Write the files of a git directory. The name of the last tree is forgotten, since its objects may be gone.
	g.last = ""
	for _, dir := range []string{"objects/info", "refs", "info"} {
		if err := os.MkdirAll(filepath.Join(g.dir, filepath.FromSlash(dir)), 0o700); err != nil {
			return err
		}
	}
	// Files that the user's repository excludes locally are excluded here, too. Its objects are borrowed, not
	// copied.
	exclude, err := os.ReadFile(filepath.Join(g.repository.Common, "info", "exclude"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for name, text := range map[string]string{
		"HEAD": noHead, "config": gitConfig, "info/attributes": noFilters,
		"info/exclude": string(exclude), "objects/info/alternates": filepath.Join(g.repository.Common, "objects") + "\n",
	} {
		if err := os.WriteFile(filepath.Join(g.dir, filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
			return err
		}
	}
	// A crash may have left the lock of the index, because of which git would refuse to work.
	if err := os.Remove(g.index() + ".lock"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := g.seedIndex(ctx, g.repository); err != nil {
		return err
	}
	g.ready = true
	return nil
}

// captureTree implements capturer. Without a change since the last one it runs one git process, else three or four.
func (g *gitTree) captureTree(ctx context.Context) (name string, omitted omittedFiles, err error) {
	if err := g.prepare(ctx); err != nil {
		return "", nil, err
	}
	var reading sync.WaitGroup
	if g.tight == nil {
		reading.Go(func() { g.readPermissions(ctx) })
	}
	modified, others, err := g.listPaths(ctx, g.scopePath())
	reading.Wait()
	if err != nil && ctx.Err() == nil { // the garbage collection of the repository may have removed the last tree
		g.last = ""
		if err = g.writeHead(noHead); err == nil {
			modified, others, err = g.listPaths(ctx, g.scopePath())
		}
	}
	if err != nil {
		return "", nil, err
	}
	changed, gone, omitted, err := g.selectPaths(modified, others)
	if err != nil {
		return "", nil, err
	}
	if g.last != "" && changed.Len()+gone.Len() == 0 {
		return g.last, omitted, nil
	}
	g.last = "" // until the tree of the index is known
	for _, update := range []struct {
		paths *bytes.Buffer
		how   string
	}{{&gone, "--force-remove"}, {&changed, "--replace"}} {
		if update.paths.Len() == 0 {
			continue
		}
		if _, err := g.run(ctx, update.paths, "update-index", "-z", "--add", "--remove", update.how, "--stdin"); err != nil {
			return "", nil, err
		}
	}
	tree, err := g.run(ctx, nil, "write-tree")
	if err != nil && ctx.Err() == nil && !g.rebuilt {
		// The garbage collection of the repository may have removed objects that the index names: build it anew, once.
		g.rebuilt, g.ready = true, false
		defer func() { g.rebuilt = false }()
		if err := os.Remove(g.index()); err != nil {
			return "", nil, err
		}
		return g.captureTree(ctx)
	}
	if err != nil {
		return "", nil, err
	}
	g.last = strings.TrimSpace(string(tree))
	return g.last, omitted, g.setHead(g.last)
}

func (g *gitTree) scopePath() string {
	if g.options.Scope == "" {
		return "."
	}
	return filepath.ToSlash(g.options.Scope)
}

// selectPaths returns the listed paths that are captured and those that are gone, each ended by a zero byte. Large
// untracked files, files that cannot be read, and repositories inside of this one are omitted.
func (g *gitTree) selectPaths(modified, others []byte) (changed, gone bytes.Buffer, omitted omittedFiles, err error) {
	root, err := os.OpenRoot(g.root)
	if err != nil {
		return changed, gone, nil, err
	}
	defer root.Close()
	omitted = omittedFiles{}
	// Modified names come first. The limit of size applies only to untracked files.
	untracked := len(bytes.Split(modified, []byte{0})) - 1 // the index of the first untracked name
	names := strings.Split(string(modified)+string(others), "\x00")
	var repositories []string
	// Sort the names into captured, gone and omitted. Names of repositories inside end with a slash.
	for i, name := range names {
		if name == "" || strings.HasSuffix(name, "/") {
			repositories = append(repositories, name)
			continue
		}
		if isTemporary(name) {
			continue
		}
		info, err := root.Lstat(name)
		// A file is gone if nothing, a directory or a special file is in its place.
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			omitted.addUnreadable(name)
		case err != nil, info.IsDir():
			gone.WriteString(name + "\x00")
		case info.Mode().IsRegular() && (i >= untracked && info.Size() > maxUntracked || !canRead(root, name)):
			omitted.add(name, info)
		case info.Mode().IsRegular(), info.Mode()&fs.ModeSymlink != 0:
			if g.tight != nil {
				g.tight.noteFile(name, info)
			}
			changed.WriteString(name + "\x00")
		case i < untracked: // a pipe, socket or device is in its place
			gone.WriteString(name + "\x00")
		}
	}
	// Repositories are recorded by a summary, so that changes in them are noticed.
	omitted.addRepositories(root, repositories)
	return changed, gone, omitted, nil
}

// canRead reports whether the file can be opened. It does not block on a pipe.
func canRead(root *os.Root, name string) bool {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	return f.Close() == nil
}

// compare implements capturer.
func (g *gitTree) compare(ctx context.Context, from, to string, limit int) ([]session.FileChange, error) {
	if err := g.prepare(ctx); err != nil {
		return nil, err
	}
	raw, err := g.run(ctx, nil, "diff-tree", "-r", "-z", "--no-renames", "--no-abbrev", from, to, "--")
	if err != nil {
		return nil, err
	}
	changes, err := parseRawDiff(raw, limit)
	if err != nil {
		return nil, err
	}
	return changes, g.storeContents(ctx, changes)
}

// parseRawDiff parses the output of git diff-tree -z: for each file ":MODE MODE BLOB BLOB STATUS", then its path. More
// than limit files are an error.
func parseRawDiff(raw []byte, limit int) (out []session.FileChange, err error) {
	fields := strings.Split(string(raw), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		f := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		if len(f) != 5 {
			return nil, fmt.Errorf("git diff-tree printed an unknown line: %q", fields[i])
		}
		c := session.FileChange{Path: session.FilePath(fields[i+1])}
		for _, side := range []struct {
			mode, blob string
			state      *session.PathState
		}{{f[0], f[2], &c.Before}, {f[1], f[3], &c.After}} {
			mode, err := strconv.ParseUint(side.mode, 8, 32)
			if err != nil {
				return nil, fmt.Errorf("git diff-tree printed an unknown line: %q", fields[i])
			}
			if mode != 0 {
				*side.state = session.PathState{Blob: side.blob, Mode: uint32(mode)}
			}
		}
		if out = append(out, c); len(out) > limit {
			return nil, fmt.Errorf("more than %d files were changed", limit)
		}
	}
	return out, nil
}

// storeContents copies the contents of both sides from git to Blobs, except those of more than MaxBlob bytes and those
// that git no longer has.
func (g *gitTree) storeContents(ctx context.Context, changes []session.FileChange) error {
	var wanted bytes.Buffer
	asked := map[string]bool{}
	for _, c := range changes {
		for _, s := range []session.PathState{c.Before, c.After} {
			if s.Blob != "" && s.Mode != session.ModeSubmodule && !asked[s.Blob] && !g.options.Blobs.refreshUse(s.Blob) {
				asked[s.Blob] = true
				wanted.WriteString(s.Blob + "\n")
			}
		}
	}
	if wanted.Len() == 0 {
		return nil
	}
	return g.stream(ctx, &wanted, g.storeBatch, "cat-file", "--batch")
}

// storeBatch stores the contents in the output of cat-file --batch: for each object a line with its id, type and size,
// the content, and a line end.
func (g *gitTree) storeBatch(r *bufio.Reader) error {
	for {
		// Read the line of the next object. The output ends between objects.
		line, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) && line == "" {
			return nil
		}
		if err != nil {
			return err
		}
		f := strings.Fields(line)
		if len(f) == 2 && f[1] == "missing" { // the repository's garbage collection removed it
			continue
		}
		if len(f) != 3 || f[1] != "blob" {
			return fmt.Errorf("git cat-file printed an unknown line: %q", strings.TrimSpace(line))
		}
		size, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil {
			return err
		}
		// Skip a content that is too large for a blob, with its line end.
		if size > MaxBlob {
			if _, err := io.CopyN(io.Discard, r, size+1); err != nil {
				return err
			}
			continue
		}
		// Read the content with its line end, and store it without.
		content := make([]byte, size+1)
		if _, err := io.ReadFull(r, content); err != nil {
			return err
		}
		if _, err := g.options.Blobs.Put(content[:size]); err != nil {
			return err
		}
	}
}
