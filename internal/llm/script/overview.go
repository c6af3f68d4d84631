package script

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
)

// maxReads bounds the files that an overview reads.
const maxReads = 8

// survey is what an overview has learned.
type survey struct {
	root      []string // entries of the working directory
	files     []string // relative paths of the files that glob showed
	more      bool     // glob showed only some
	readme    file
	manifests []file
	entries   []file
	others    []file
	trouble   []string
}

// overview lists, reads README and manifests, reads entry points, and says what they say.
func (t *task) overview() string {
	var s survey
	if !t.look(&s) {
		return ""
	}
	if len(s.root) == 0 && len(s.files) == 0 {
		return t.nothing(s)
	}
	plan, entries := s.plan()
	if !t.offered["read"] {
		s.trouble = append(s.trouble, "I could not read files: this session does not offer me the tool `read`")
		return s.compose() + "\n" + t.filesRead()
	}
	if !t.readAll(plan, 200, func(f file) { s.place(f) }) {
		return ""
	}
	if entries = append(entries, s.named()...); len(entries) == 0 {
		entries = s.sources(2)
	}
	entries = entries[:min(len(entries), maxReads-len(plan))]
	if t.refused() {
		entries = nil
	}
	if !t.readAll(entries, 160, func(f file) { s.entries = append(s.entries, f) }) {
		return ""
	}
	if len(plan)+len(entries) == 0 {
		if !t.readAll(s.sample(), 80, func(f file) { s.others = append(s.others, f) }) {
			return ""
		}
	}
	return s.compose() + "\n" + t.filesRead()
}

// look lists the directory and its files, both in one turn.
func (t *task) look(s *survey) bool {
	var mains []string
	list, listed := t.do("list")
	glob, globbed := t.do("glob", "pattern", "**/*")
	if !listed || !globbed {
		return false
	}
	if list.failed {
		s.trouble = append(s.trouble, "I could not list the directory: "+list.trouble())
	} else {
		s.root = entriesOf(list.text)
	}
	if glob.failed {
		s.trouble = append(s.trouble, "I could not look for files: "+glob.trouble())
	} else {
		s.files, s.more = pathsOf(glob.text)
	}
	if s.more {
		e, ready := t.do("glob", "pattern", "**/main.*")
		if !ready {
			return false
		}
		mains, _ = pathsOf(e.text)
	}
	if t.root == "" {
		t.root = rootOf(s.files, s.root)
	}
	for i := range s.files {
		s.files[i] = t.rel(s.files[i])
	}
	for _, entry := range append(mains, s.root...) {
		if entry = t.rel(entry); !strings.HasSuffix(entry, "/") && !slices.Contains(s.files, entry) {
			s.files = append(s.files, entry)
		}
	}
	slices.SortStableFunc(s.files, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), cmp.Compare(a, b))
	})
	return true
}

func (t *task) nothing(s survey) string {
	if len(s.trouble) > 0 {
		return strings.Join(s.trouble, "\n") + "\nSo I cannot say what this project does.\n\n" + t.filesRead()
	}
	return "The directory is empty, as far as the list and glob tools show: there is no project to describe.\n\n" + t.filesRead()
}

// readAll reads all of names in one turn and gives those that could be read to use.
func (t *task) readAll(names []string, limit int, use func(file)) bool {
	complete := true
	for _, name := range names {
		f, e, ready := t.read(name, 0, limit)
		if !ready {
			complete = false
			continue
		}
		if !e.failed && !e.media {
			use(f)
		}
	}
	return complete
}

// refused reports whether the user or a rule has declined a read; one refusal is enough to stop reading.
func (t *task) refused() bool {
	return slices.ContainsFunc(t.notes, func(n note) bool { return strings.HasPrefix(n.trouble, notPermitted) })
}

func (s *survey) place(f file) {
	if readmeName().MatchString(path.Base(f.path)) {
		s.readme = f
	} else {
		s.manifests = append(s.manifests, f)
	}
}

var (
	readmeName   = lazily(`(?i)^(readme(\.(md|markdown|rst|txt|adoc))?|(about|overview|architecture)\.(md|txt)|index\.md)$`)
	manifestName = lazily(`^(go\.mod|package\.json|Cargo\.toml|pyproject\.toml|setup\.py|requirements\.txt|pom\.xml|build\.gradle(\.kts)?|composer\.json|Gemfile|mix\.exs|CMakeLists\.txt|deno\.json|[^/]+\.gemspec|[^/]+\.csproj|pubspec\.yaml|Makefile)$`)
	unimportant  = lazily(`(^|/)(vendor|node_modules|testdata|fixtures?|examples?|third_party|dist|build|target|\.[^/]+)/`)
	testFile     = lazily(`(_test\.(go|py|rb|exs)|(^|/)test_[^/]+\.py|\.(test|spec)\.[cm]?[jt]sx?|_spec\.rb|Tests?\.(java|kt|cs|swift)|(^|/)(tests?|spec|__tests__)/.+)$`)
	entryRanks   = []func() *regexp.Regexp{
		lazily(`^main\.(go|py|rs|[cm]?js|ts|tsx|c|cc|cpp|swift|kt|dart|rb|php|lua|zig|ml|hs|ex|scala)$`),
		lazily(`^cmd/[^/]+/main\.go$`),
		lazily(`^src/(main|lib)\.[a-z]+$`),
		lazily(`^(src/)?(index|app|server|cli|manage|run|wsgi|Program|App)\.(js|mjs|cjs|ts|tsx|jsx|py|rb|php|cs|java|kt|html)$`),
		lazily(`(^|/)(__main__\.py|main\.(go|py|rs|c|cc|cpp|dart|swift|kt)|Main\.(java|kt)|Application\.(java|kt))$`),
		lazily(`^bin/[^/]+$`),
		lazily(`^doc\.go$`),
	}
)

// plan chooses a README, manifests and entry points among the files.
func (s *survey) plan() (first, entries []string) {
	own := slices.DeleteFunc(slices.Clone(s.files), func(p string) bool { return unimportant().MatchString(p) })
	if name := s.pickReadme(own); name != "" {
		first = append(first, name)
	}
	for depth := range 3 {
		for _, p := range own {
			if strings.Count(p, "/") == depth && manifestName().MatchString(path.Base(p)) && len(first) < 4 {
				first = append(first, p)
			}
		}
		if len(first) > 1 {
			break // manifests of deeper modules matter only where there is none above
		}
	}
	for _, rank := range entryRanks {
		for _, p := range own {
			if rank().MatchString(p) && !slices.Contains(first, p) && !slices.Contains(entries, p) && !testFile().MatchString(p) && len(entries) < 4 {
				entries = append(entries, p)
			}
		}
	}
	return first, entries
}

func (s *survey) pickReadme(own []string) string {
	best := ""
	for _, p := range own {
		base := strings.ToLower(path.Base(p))
		if !readmeName().MatchString(base) || (best != "" && strings.Count(p, "/") > strings.Count(best, "/")) {
			continue
		}
		better := strings.HasPrefix(base, "readme") && !strings.HasPrefix(strings.ToLower(path.Base(best)), "readme")
		if best == "" || better || (strings.HasPrefix(base, "readme") && base == "readme.md") {
			best = p
		}
	}
	return best
}

var nameInManifest = lazily(`^module\s+(?:\S+/)?([\w.-]+?)(?:/v\d+)?$|^\s*"?name"?\s*[:=]\s*"(?:@[\w.-]+/)?([\w.-]+)"`)

// sources returns n source files of the most frequent language: first those that bear the project's name, no tests.
func (s *survey) sources(n int) []string {
	own := slices.DeleteFunc(slices.Clone(s.files), func(p string) bool { return unimportant().MatchString(p) })
	var names, out []string
	for _, m := range s.manifests {
		for _, l := range m.lines {
			if found := nameInManifest().FindStringSubmatch(l.text); found != nil {
				names = append(names, found[1]+found[2])
			}
		}
	}
	slices.SortStableFunc(own, func(a, b string) int {
		bears := func(p string) int {
			return slices.Index([]bool{true, false}, slices.Contains(names, strings.TrimSuffix(path.Base(p), path.Ext(p))))
		}
		return cmp.Compare(bears(a), bears(b))
	})
	for _, language := range languagesOf(own) {
		if language.prose {
			continue
		}
		for _, p := range own {
			if len(out) < n && languageNames[path.Ext(p)] == language.name && !testFile().MatchString(p) {
				out = append(out, p)
			}
		}
		if len(out) > 0 {
			break
		}
	}
	return out
}

var pathInManifest = lazily(`"((?:\./)?[\w./-]+\.(?:[cm]?[jt]sx?|rs|py|rb|php))"`)

// named returns entry points that a manifest names and that are there.
func (s *survey) named() []string {
	var out []string
	for _, m := range s.manifests {
		for _, l := range m.lines {
			for _, found := range pathInManifest().FindAllStringSubmatch(l.text, -1) {
				p := path.Join(path.Dir(m.path), found[1])
				if slices.Contains(s.files, p) && !slices.Contains(out, p) && !s.planned(p) && len(out) < 2 {
					out = append(out, p)
				}
			}
		}
	}
	return out
}

func (s *survey) planned(p string) bool {
	first, entries := s.plan()
	return slices.Contains(first, p) || slices.Contains(entries, p)
}

var textExt = lazily(`(?i)\.(txt|md|csv|tsv|json|ya?ml|toml|ini|cfg|xml|html|tex|org|log|sql|sh)$`)

// sample chooses text files when there is neither README nor manifest nor source.
func (s *survey) sample() []string {
	var out []string
	for _, p := range s.files {
		if textExt().MatchString(p) && len(out) < 3 {
			out = append(out, p)
		}
	}
	return out
}
