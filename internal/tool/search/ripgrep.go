package search

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

// If ripgrep is installed, it names the files that may match. They are opened and searched by this process, so that
// results, confinement and limits are the same as without it. ripgrep omits no file that matches: its expression
// accepts all that cairn's parser accepts, and its ignore rules are a subset of cairn's. If it fails or takes too long,
// all files are searched (docs/adr/0010).
const (
	ripgrepTime  = 20 * time.Second // limit of one search
	maxCandidate = 64 << 10         // bytes of one name
)

// simpleInclude matches the include patterns that ripgrep understands the same way.
var simpleInclude = regexp.MustCompile(`^\*\.[A-Za-z0-9_]+$`)

// ripgrepCommand returns the command line that names the files to search, nil if ripgrep is not available.
func (s *searchTools) ripgrepCommand(q *query) []string {
	program := s.findProgram("rg")
	if program == "" {
		return nil
	}
	args := []string{
		program, "--no-config", "--no-messages", "--hidden", "--text", "--case-sensitive", "--files-with-matches", "--null",
		"--color=never",
		"--no-require-git", "--no-ignore-parent", "--no-ignore-exclude", "--no-ignore-global", "--glob=!.git",
	}
	if q.glob != "" {
		args = append(args, "--glob="+q.glob)
	}
	return append(args, "--regexp="+rustExpression(q.tree), "--", "./")
}

// findProgram finds a program in the absolute directories of PATH. It skips programs in the Location: a search must not
// run a program of the project.
func (s *searchTools) findProgram(name string) string {
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
		if s.config.Paths.Contains(file) {
			continue
		}
		return file
	}
	return ""
}

// errRipgrep reports that ripgrep failed, or printed something that is not a name below the directory.
var errRipgrep = errors.New("ripgrep failed")

// visitNamed calls visit for each file that the program names and that is not ignored, from several goroutines. The
// error is errRipgrep if files may be missing.
func (t *searchTree) visitNamed(ctx context.Context, argv []string, visit func(rel string) error) error {
	// Start the program with limits of time and memory, and without the user's environment.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	bounded, end := context.WithTimeoutCause(ctx, ripgrepTime, errRipgrep)
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
		return errRipgrep
	}
	limitMemory(cmd.Process.Pid)
	// Visit the names while the program runs.
	found := make(chan string, 64) // one large file must not block the program
	var all sync.WaitGroup
	rules := t.newRuleCache()
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for rel := range found {
				if ctx.Err() != nil || !rules.isVisited(rel) {
					continue
				}
				if err := visit(rel); err != nil {
					cancel(err)
				}
			}
		})
	}
	// Read all names, then wait for the visits.
	err = readCandidates(ctx, names, found)
	close(found)
	all.Wait()
	// An error of a visit, or the end of the caller's context, comes before the program's.
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		end() // the output has no reader any more
	}
	ended := cmd.Wait()
	switch {
	case err != nil:
		return err
	case ended != nil && cmd.ProcessState.ExitCode() != 1: // 1: no match
		return errRipgrep
	}
	return nil
}

// readCandidates reads names that end with NUL.
func readCandidates(ctx context.Context, names io.Reader, found chan<- string) error {
	r := bufio.NewReaderSize(names, maxCandidate)
	for {
		name, err := r.ReadSlice(0)
		if errors.Is(err, io.EOF) && len(name) == 0 {
			return nil
		}
		rel := strings.TrimPrefix(string(bytes.TrimSuffix(name, []byte{0})), "./")
		if err != nil || !filepath.IsLocal(filepath.FromSlash(rel)) || path.Clean(rel) != rel {
			return errRipgrep
		}
		select {
		case found <- rel:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ruleCache caches the ignore rules of directories. Safe for concurrent use.
type ruleCache struct {
	*searchTree
	mu    sync.Mutex // guards rules; held while ignore files are read, each once
	rules map[string]*dirRules
}

// dirRules is the rules of a directory that is not ignored itself.
type dirRules struct{ rules *ignoreRules }

func (t *searchTree) newRuleCache() *ruleCache {
	return &ruleCache{searchTree: t, rules: map[string]*dirRules{t.start: {t.startRules()}}}
}

// dirRules returns the rules of a directory below the root; nil if the directory is ignored.
func (r *ruleCache) dirRules(dir string) *dirRules {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.findRules(dir)
}

func (r *ruleCache) findRules(dir string) *dirRules {
	if known, ok := r.rules[dir]; ok {
		return known
	}
	var here *dirRules
	if dir != "." && dir != "/" {
		if up := r.findRules(path.Dir(dir)); up != nil && !r.isSkipped(up.rules, dir, true) {
			here = &dirRules{up.rules.addDir(r.root, dir)}
		}
	}
	r.rules[dir] = here
	return here
}

// isVisited reports whether walkFiles would visit the file, named relative to the start.
func (r *ruleCache) isVisited(rel string) bool {
	name := path.Join(r.start, rel)
	up := r.dirRules(path.Dir(name))
	return up != nil && !r.isSkipped(up.rules, name, false)
}
