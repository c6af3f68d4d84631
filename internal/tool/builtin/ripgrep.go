package builtin

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Ripgrep, where it is installed, names the files that may match; they are opened through our own handle and searched by
// our own code, so results, confinement and limits are those of a search without it. What it does not name cannot match:
// its expression accepts everything that ours does, and its ignore rules are a part of ours. If it fails or takes too
// long, the search is made without it (docs/adr/0010).
const (
	ripgrepTime  = 20 * time.Second // of one search
	maxCandidate = 64 << 10         // bytes of one name
)

// simpleInclude matches the patterns for names that every program understands the same way.
var simpleInclude = regexp.MustCompile(`^\*\.[A-Za-z0-9_]+$`)

// ripgrep returns the command line that names the files to search, nil if ripgrep cannot be used.
func (s *site) ripgrep(q *query) []string {
	program := s.program("rg")
	if program == "" {
		return nil
	}
	args := []string{
		program, "--no-config", "--no-messages", "--hidden", "--text", "--case-sensitive", "--files-with-matches", "--null", "--color=never",
		"--no-require-git", "--no-ignore-parent", "--no-ignore-exclude", "--no-ignore-global", "--glob=!.git",
	}
	if q.glob != "" {
		args = append(args, "--glob="+q.glob)
	}
	return append(args, "--regexp="+rustExpression(q.tree), "--", "./")
}

// program finds a program in the directories of PATH that are absolute and not of the place: what a project brings is
// never started to search it.
func (s *site) program(name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file := filepath.Join(dir, name)
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode()&0o111 == 0 {
			continue
		}
		if s.owns(file) {
			continue
		}
		return file
	}
	return ""
}

// owns reports whether a file lies in the place, by its name or behind links.
func (s *site) owns(file string) bool {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return true
	}
	for _, root := range append(s.roots(), s.config.Directory, s.config.Worktree) {
		if root == "" || root == filepath.Dir(root) {
			continue
		}
		_, named := below(root, file)
		if _, found := below(root, real); found || named {
			return true
		}
	}
	return false
}

// errFinder reports that ripgrep failed or printed something that is not a name below the tree.
var errFinder = errors.New("ripgrep failed")

// visitNamed visits the files that the program names, as walk would: from several goroutines, those alone that are not
// ignored. The error is errFinder, if that may not be all.
func (t *tree) visitNamed(ctx context.Context, argv []string, visit func(rel string) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	bounded, end := context.WithTimeoutCause(ctx, ripgrepTime, errFinder)
	defer end()
	cmd := exec.CommandContext(bounded, argv[0], argv[1:]...)
	cmd.Dir = filepath.Join(t.dir, filepath.FromSlash(t.start))
	cmd.Env = []string{"LC_ALL=C.UTF-8"}
	cmd.WaitDelay = time.Second
	names, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return errFinder
	}
	limitMemory(cmd.Process.Pid)
	found := make(chan string, 64) // so that the program is not kept waiting by one large file
	var all sync.WaitGroup
	rules := t.ruler()
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for rel := range found {
				if ctx.Err() != nil || !rules.visits(rel) {
					continue
				}
				if err := visit(rel); err != nil {
					cancel(err)
				}
			}
		})
	}
	err = candidates(ctx, names, found)
	close(found)
	all.Wait()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		end() // nobody listens to it any more
	}
	ended := cmd.Wait()
	switch {
	case err != nil:
		return err
	case ended != nil && cmd.ProcessState.ExitCode() != 1: // 1: there is nothing
		return errFinder
	}
	return nil
}

// candidates reads names, each with a NUL behind it.
func candidates(ctx context.Context, names io.Reader, found chan<- string) error {
	r := bufio.NewReaderSize(names, maxCandidate)
	for {
		name, err := r.ReadSlice(0)
		if errors.Is(err, io.EOF) && len(name) == 0 {
			return nil
		}
		rel := strings.TrimPrefix(string(bytes.TrimSuffix(name, []byte{0})), "./")
		if err != nil || !filepath.IsLocal(filepath.FromSlash(rel)) || path.Clean(rel) != rel {
			return errFinder
		}
		select {
		case found <- rel:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ruler knows the ignore rules of the directories of a tree, as far as it was asked. Safe for concurrent use.
type ruler struct {
	*tree
	mu    sync.Mutex // guards rules; held while ignore files are read, each once
	rules map[string]*ignored
}

// ignored is the rules that hold in a directory that is not ignored itself.
type ignored struct{ rules *ignore }

func (t *tree) ruler() *ruler {
	return &ruler{tree: t, rules: map[string]*ignored{t.start: {t.rules()}}}
}

// of returns the rules in a directory at or below the start, both named below the root; nil where it is ignored.
func (r *ruler) of(dir string) *ignored {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.find(dir)
}

func (r *ruler) find(dir string) *ignored {
	if known, ok := r.rules[dir]; ok {
		return known
	}
	var here *ignored
	if dir != "." && dir != "/" {
		if up := r.find(path.Dir(dir)); up != nil && !r.skips(up.rules, dir, true) {
			here = &ignored{up.rules.with(r.root, dir)}
		}
	}
	r.rules[dir] = here
	return here
}

// visits reports whether walk would come to the file, named below the start.
func (r *ruler) visits(rel string) bool {
	name := path.Join(r.start, rel)
	up := r.of(path.Dir(name))
	return up != nil && !r.skips(up.rules, name, false)
}
