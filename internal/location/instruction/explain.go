package instruction

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Explanation says whether a file is among the instructions of a location, and why.
type Explanation struct {
	Key    string // of the source that has the file; "" if it is left out
	Rule   string // by which the file is found, "" if no rule finds it
	Reason string // why it is left out, or cut
	Bytes  int64  // of the file's text in the context
	Files  []string
}

// Explain says whether the file with the absolute path, or the page with the URL, is among the instructions.
// It reads the files as the system context does, so that limits and links have the same effect, and says which rule
// finds the path and why it is used or not.
func (o Options) Explain(ctx context.Context, path string) (v Explanation) {
	// The two sources: files that are found by name, and those that the configuration names.
	sources := []struct {
		key        string
		candidates func() [][]candidate
	}{{KeyInstructions, o.discoveredFiles}, {KeyConfigured, o.configuredFiles}}
	for _, s := range sources {
		// Read the source and collect all of its files.
		groups := s.candidates()
		read := &reader{Options: o, candidates: s.candidates}
		read.at.Store(&path)
		files, err := read.read(ctx)
		for _, f := range files {
			v.Files = append(v.Files, f.Path)
		}
		// Look for the path among the candidates; the first source that uses it decides.
		group, at := findCandidate(groups, path)
		if v.Key != "" || at < 0 {
			continue
		}
		v.Rule = o.describeRule(s.key, group[at])
		// It is used: say how much of it.
		if i := slices.IndexFunc(files, func(f File) bool { return f.Path == path }); i >= 0 {
			v.Key, v.Reason, v.Bytes = s.key, "", int64(len(files[i].Content))
			if strings.HasSuffix(files[i].Content, ")") && strings.Contains(files[i].Content, "(Cut here") {
				v.Reason = fmt.Sprintf("it is cut: the files of one source have %d bytes at most", MaxBytes)
			}
			if strings.HasPrefix(files[i].Content, "(Not read: it is a link") {
				v.Reason = "its text is left out: it is a link that leads out of the project"
			}
			continue
		}
		// It is a candidate but not used.
		v.Reason = explainAbsence(group, at, files, err)
	}
	// No rule names the path.
	if v.Key == "" && v.Reason == "" {
		v.Reason = o.explainUnknown(path)
	}
	return v
}

func findCandidate(groups [][]candidate, path string) (group []candidate, at int) {
	for _, g := range groups {
		if i := slices.IndexFunc(g, func(c candidate) bool { return c.path == path }); i >= 0 {
			return g, i
		}
	}
	return nil, -1
}

// describeRule says by which rule the candidate is found.
func (o Options) describeRule(key string, c candidate) string {
	switch {
	case key == KeyConfigured:
		return "the setting instructions names it"
	case c.root == "":
		return "global: the first of the user's own files"
	case filepath.Dir(c.path) == o.Directory:
		return "project: a file of the directory itself"
	default:
		return "project: a file of a directory above, up to the root of the project"
	}
}

// explainAbsence says why a candidate is not used.
func explainAbsence(group []candidate, at int, used []File, err error) string {
	c := group[at]
	if c.page {
		if err != nil {
			return "its source cannot be read: " + err.Error()
		}
		return "the page is empty, or the limit of its source is reached"
	}
	_, exists, found := findFile(c)
	switch {
	case found != nil:
		return "it cannot be read: " + found.Error()
	case !exists:
		return "the file does not exist"
	case err != nil:
		return "another file of its source cannot be read: " + err.Error()
	}
	for _, other := range group[:at] {
		if slices.ContainsFunc(used, func(f File) bool { return f.Path == other.path }) {
			return "hidden by " + other.path + ": of these names only the first is used"
		}
	}
	if info, err := os.Stat(c.path); err == nil && info.Size() == 0 {
		return "the file is empty"
	}
	return "the same file is used under another name, or the limit of its source is reached"
}

// explainUnknown says why no rule finds the file.
func (o Options) explainUnknown(path string) string {
	if strings.Contains(path, "://") {
		return "the setting instructions does not name this address"
	}
	// Collect the facts about the path.
	name, dir := filepath.Base(path), filepath.Dir(path)
	isName := slices.Contains([]string{"AGENTS.md", "CLAUDE.md", "CONTEXT.md"}, name)
	within := func(root string) bool {
		rel, err := filepath.Rel(root, dir)
		return root != "" && err == nil && filepath.IsLocal(rel)
	}
	// The first reason that holds is the one to act on: the file itself, then switches, then where it is.
	_, exists, err := findFile(candidate{path: path})
	switch {
	case err != nil:
		return "it cannot be read: " + err.Error()
	case !exists:
		return "the file does not exist"
	case name == "CLAUDE.md" && o.DisableClaude:
		return "an environment variable disables CLAUDE.md (cairn help environment)"
	case isName && o.DisableProject && within(o.projectRoot()):
		return "CAIRN_DISABLE_PROJECT_CONFIG disables the files of projects"
	case isName && within(o.Directory):
		return "nested: it is added when a tool reads a file in its directory"
	case isName && within(o.projectRoot()):
		return "its directory is not above " + o.Directory
	case isName:
		return "it is outside of the project " + o.projectRoot()
	default:
		return "no rule finds a file of this name: only AGENTS.md, CLAUDE.md and CONTEXT.md are, and the files " +
			"that the setting instructions names"
	}
}
