// Package sources finds and reads what other programs keep of their sessions. It only reads.
package sources

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/statefile"
	"github.com/cairn-dev/cairn/internal/transfer/claude"
	"github.com/cairn-dev/cairn/internal/transfer/codex"
	"github.com/cairn-dev/cairn/internal/transfer/crush"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
	"github.com/cairn-dev/cairn/internal/transfer/gemini"
	"github.com/cairn-dev/cairn/internal/transfer/jsontree"
	"github.com/cairn-dev/cairn/internal/transfer/opencodedb"
)

// source says where a program keeps its sessions and how they are read.
type source struct {
	variable string // names the program's directory
	below    string // of the variable's directory
	home     string // the directory without the variable, below the home directory; "" is the working directory
	patterns []string
	read     func(r io.Reader, name string) ([]foreign.Session, error)

	// A store has many sessions: stores are the names of what may be one below a directory, and readStore reads one.
	stores    []string
	readStore func(ctx context.Context, path string, give func(foreign.Session) error) ([]foreign.Problem, error)
}

// all are the programs whose sessions can be read. The places are those of Claude Code 2.1, Codex 0.171 and Gemini
// CLI 0.61.
var all = map[string]source{
	foreign.Claude: {
		variable: "CLAUDE_CONFIG_DIR", home: ".claude",
		patterns: []string{"projects/*/*.jsonl", "projects/*/*/subagents/*.jsonl"}, read: claude.Read,
	},
	foreign.Codex: {
		variable: "CODEX_HOME", home: ".codex",
		patterns: []string{"sessions/*/*/*/rollout-*.jsonl", "archived_sessions/rollout-*.jsonl"}, read: codex.Read,
	},
	foreign.OpenCode: {
		variable: "XDG_DATA_HOME", below: "opencode", home: ".local/share/opencode",
		stores: []string{"opencode.db", "opencode-*.db", treeStore, "project"}, readStore: readOpenCode,
	},
	foreign.Crush: {stores: []string{".crush/crush.db"}, readStore: crush.Read},
	foreign.Gemini: {
		home:     ".gemini",
		patterns: []string{"tmp/*/chats/session-*.json", "tmp/*/chats/session-*.jsonl", "tmp/*/chats/*/*.jsonl"},
		read:     gemini.Read,
	},
}

// Programs returns the names of the programs, sorted.
func Programs() []string {
	return slices.Sorted(maps.Keys(all))
}

// File is a file with sessions.
type File struct {
	Program  string
	Path     string
	Size     int64 // bytes
	Modified time.Time
	IsStore  bool // it has many sessions, each changed at its own time, and Modified says nothing of them
}

// treeStore is the name of OpenCode's directory of files.
const treeStore = "storage"

// maxFiles bounds the files of one program.
const maxFiles = 100_000

// maxFile bounds one file, which is read as a whole: bytes.
const maxFile = 512 << 20

// Find returns the files of a program, those that were changed last at the end. paths are files, or directories with
// all files below them; without them the program's own places are searched. A missing place has no files.
func Find(program string, paths []string, env func(string) string) ([]File, error) {
	s, ok := all[program]
	if !ok {
		return nil, session.Errorf(session.CodeInvalid,
			"no program %q is known; there are %s", program, strings.Join(Programs(), ", ")).At("from")
	}
	if s.readStore != nil {
		return s.findStores(program, paths, env)
	}
	if len(paths) == 0 {
		for _, p := range s.patterns {
			found, err := filepath.Glob(filepath.Join(s.root(env), p))
			if err != nil {
				return nil, err
			}
			paths = append(paths, found...)
		}
	}
	// Take the regular files, each once.
	var out []File
	for _, p := range paths {
		err := filepath.WalkDir(p, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil && path == p:
				return err
			case err != nil || len(out) == maxFiles || !strings.HasPrefix(filepath.Ext(path), ".json"):
				return nil // what cannot be read below a directory is left out
			}
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				out = append(out, File{program, path, info.Size(), info.ModTime(), false})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b File) int {
		return cmp.Or(a.Modified.Compare(b.Modified), strings.Compare(a.Path, b.Path))
	})
	return slices.CompactFunc(out, func(a, b File) bool { return a.Path == b.Path }), nil
}

// FindPrograms returns the programs that have something where they keep their sessions, but those that keep it in
// projects.
func FindPrograms(env func(string) string) (found []string) {
	for _, name := range Programs() {
		if all[name].home == "" {
			continue
		}
		if files, err := Find(name, nil, env); err == nil && len(files) > 0 {
			found = append(found, name)
		}
	}
	return found
}

// findStores returns the stores among the paths, and those in the paths that are directories.
func (s source) findStores(program string, paths []string, env func(string) string) (out []File, err error) {
	if len(paths) == 0 {
		if _, err := os.Stat(s.root(env)); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		paths = []string{s.root(env)}
	}
	for _, p := range paths {
		found := []string{p}
		named := !slices.Equal(paths, []string{s.root(env)})
		isStore := filepath.Base(p) == treeStore && slices.Contains(s.stores, treeStore)
		if info, err := os.Stat(p); err == nil && info.IsDir() && !isStore {
			found = nil
			for _, name := range s.stores {
				more, err := filepath.Glob(filepath.Join(p, name))
				if err != nil {
					return nil, err
				}
				found = append(found, more...)
			}
		}
		for _, path := range found {
			info, err := os.Stat(path)
			if err != nil {
				return nil, err
			}
			if info.IsDir() { // one store with those beside it
				path = filepath.Dir(path)
			}
			if !named && isMirror(path) { // where OpenCode keeps its sessions, as other programs look there
				continue
			}
			out = append(out, File{program, path, info.Size(), info.ModTime(), true})
		}
	}
	return slices.CompactFunc(out, func(a, b File) bool { return a.Path == b.Path }), nil
}

// readOpenCode reads a database, or the files in a directory of OpenCode's data.
func readOpenCode(ctx context.Context, path string, give func(foreign.Session) error) ([]foreign.Problem, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return opencodedb.Read(ctx, path, give)
	}
	if isMirror(path) {
		return nil, errors.New("it is a mirror that cairn writes; its sessions are cairn's already, and cairn export " +
			"--format jsonl takes them to another home")
	}
	return jsontree.Read(ctx, os.DirFS(path), give)
}

// isMirror reports whether cairn writes the tree in the directory.
func isMirror(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, treeStore, jsontree.MirrorMarker))
	return err == nil
}

// root returns the directory of the program.
func (s source) root(env func(string) string) string {
	if s.variable != "" && env(s.variable) != "" {
		return filepath.Join(env(s.variable), s.below)
	}
	if s.home == "" {
		return "."
	}
	return filepath.Join(env("HOME"), s.home)
}

// Read reads the sessions of the file and gives each away, those that started others before these. It returns the rows
// that belong to no session and cannot be read. An error is of the file, or of give.
func Read(ctx context.Context, f File, give func(foreign.Session) error) ([]foreign.Problem, error) {
	s := all[f.Program]
	if s.readStore != nil {
		return s.readStore(ctx, f.Path, give)
	}
	if f.Size > maxFile {
		return nil, fmt.Errorf("it has %d bytes, the limit is %d", f.Size, maxFile)
	}
	in, _, err := statefile.OpenRegular(f.Path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	limited := &io.LimitedReader{R: in, N: maxFile + 1}
	list, err := s.read(limited, f.Path)
	if err == nil && limited.N == 0 {
		err = errors.New("it grew beyond the limit while it was read")
	}
	slices.SortStableFunc(list, func(a, b foreign.Session) int { return cmp.Compare(len(a.ParentID), len(b.ParentID)) })
	for i := 0; i < len(list) && err == nil; i++ {
		err = give(list[i])
	}
	return nil, err
}
