package exec

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/shell"
)

// pathUse says what a command does with a path that it names.
type pathUse struct {
	redirection bool // the shell opens it
	write       bool // it is written
	reads       bool // its content may be read
	keeps       bool // it is not changed
	harmless    bool // neither read nor changed
	prints      bool // … nor looked for
	tree        bool // of a directory everything below it is read
	follows     bool // … also through links
	search      bool // without a path, the working directory is read as a whole
	filters     bool // … unless it has an input
	script      bool // the words may hold commands
	input       bool // it runs or opens what it reads
	part        bool // the path is a part of a word
	joined      bool // a letter may stand before the path
}

var (
	redirectionUse = pathUse{redirection: true, write: true}
	inputUse       = pathUse{redirection: true, reads: true, keeps: true}
)

// The programs whose arguments are not read, not changed, or directories that are read as a whole. An unknown program
// reads and changes its arguments.
const (
	namingPrograms = " cd pushd ls stat test [ echo printf pwd df basename dirname realpath readlink " +
		"which type rm rmdir mkdir " +
		"touch chmod chown find "
	keepingPrograms = " cd pushd ls stat test [ echo printf pwd df basename dirname realpath readlink " +
		"which type find cat head " +
		"tail wc grep egrep fgrep rg cmp diff nl od hexdump strings jq md5sum sha1sum sha256sum cut column "
	treePrograms = " grep egrep fgrep rgrep rg ag ack diff tar cp rsync scp zip mv ln "

	// gitReaders are commands of git that do not change the files that they are given.
	gitReaders = " add status diff log show blame commit ls-files grep "
)

// linklessPrograms and gitLinkless are the programs, and the commands of git, that make no symbolic link.
const (
	linklessPrograms = namingPrograms + keepingPrograms + " true false sort uniq tr date sleep tee seq go gofmt "
	gitLinkless      = gitReaders + " branch tag rev-parse rev-list describe shortlog reflog remote fetch push cat-file " +
		"rm "
)

// mayMakeLinks reports whether a later path of the line may lead through a link that the command made.
func mayMakeLinks(c shell.Command) bool {
	name := filepath.Base(c.Words[0].Text)
	if name == "git" && len(c.Words) > 1 {
		return !strings.Contains(gitLinkless, " "+c.Words[1].Text+" ")
	}
	return !c.Words[0].Literal || !strings.Contains(linklessPrograms, " "+name+" ")
}

// mayBecomeLink reports whether a path that does not exist may be a link, or below one, when it is used: a file that is
// written, or an argument in a directory that does not exist.
func mayBecomeLink(real string, use pathUse) bool {
	at := real
	if !use.redirection {
		if use.harmless || use.part {
			return false
		}
		at = filepath.Dir(real)
	}
	return isMissing(at)
}

func isMissing(path string) bool {
	_, err := os.Lstat(path)
	return err != nil
}

// namesDirectoryAsRemote reports whether git pushes to, or fetches from, a directory, as git does for a name that
// belongs to a directory and not to a remote.
func namesDirectoryAsRemote(dirs []string, c shell.Command) bool {
	if len(c.Words) < 3 || !slices.Contains([]string{"push", "fetch", "pull"}, c.Words[1].Text) {
		return false
	}
	for _, w := range c.Words[2:] {
		if strings.HasPrefix(w.Text, "-") {
			continue
		}
		return slices.ContainsFunc(dirs, func(dir string) bool { return isKnownDir(filepath.Join(dir, w.Text)) })
	}
	return false
}

// movesLinks reports whether the command moves or copies symbolic links, or may.
func movesLinks(dirs []string, c shell.Command) bool {
	name := filepath.Base(c.Words[0].Text)
	if name != "mv" && name != "cp" && (name != "git" || len(c.Words) < 2 || c.Words[1].Text != "mv") {
		return false
	}
	return slices.ContainsFunc(c.Words[1:], func(w shell.Word) bool {
		return !w.Literal || slices.ContainsFunc(dirs, func(dir string) bool {
			if filepath.IsAbs(w.Text) {
				dir = ""
			}
			info, err := os.Lstat(filepath.Join(dir, w.Text))
			return err == nil && info.Mode()&os.ModeSymlink != 0
		})
	})
}

// useOf says what a command does with its arguments.
func useOf(c shell.Command) pathUse {
	name := filepath.Base(c.Words[0].Text)
	in := func(list string) bool { return strings.Contains(list, " "+name+" ") }
	u := pathUse{
		reads: !in(namingPrograms), keeps: in(keepingPrograms), tree: in(treePrograms), script: permission.RunsOthers(c),
	}
	switch name {
	case "find":
		if u.script {
			u.keeps, u.reads, u.tree, u.search = false, true, true, len(c.Words) > 1 &&
				strings.HasPrefix(c.Words[1].Text, "-")
		}
	case "grep", "egrep", "fgrep":
		u.search = hasOption(c, "-", "rRd")
		u.tree = u.search
	case "rgrep", "rg", "ag", "ack":
		u.search, u.filters = true, name != "rgrep"
	case "git":
		u.addGit(c)
	default:
		// most programs have -r or -R for everything below a directory; the options of go are words
		u.tree = u.tree || u.reads && name != "go" && hasOption(c, "-", "rR")
		if u.script {
			u.addRunner(c)
		}
	}
	u.harmless = u.keeps && !u.reads
	u.prints = name == "echo" || name == "printf"
	u.follows = followsLinks(name, c)
	return u
}

// followsLinks reports whether a program that reads a directory as a whole may follow the links there.
func followsLinks(name string, c shell.Command) bool {
	letters := "LhH"
	if strings.HasSuffix(name, "grep") {
		letters += "R"
	}
	return name == "diff" || name == "zip" || slices.ContainsFunc(c.Words[1:], func(w shell.Word) bool {
		isOption := strings.HasPrefix(w.Text, "-") || strings.HasSuffix(name, "tar") || strings.Contains(w.Text, " -")
		return !w.Literal || isOption && strings.ContainsAny(w.Text, letters) ||
			strings.Contains(w.Text, "deref") || strings.Contains(w.Text, "follow")
	})
}

// addGit adds what git does with its arguments.
func (u *pathUse) addGit(c shell.Command) {
	if len(c.Words) > 1 {
		u.keeps = strings.Contains(gitReaders, " "+c.Words[1].Text+" ") && !u.script
		u.search = c.Words[1].Text == "grep"
		u.tree = u.search || c.Words[1].Text == "mv" || slices.ContainsFunc(c.Words, func(w shell.Word) bool {
			return strings.HasPrefix(w.Text, "--no-in") // --no-index, which compares any directories
		})
	}
}

// addRunner adds what a program that runs others does: what the programs among its words do, and what its input says
// if it has no other.
func (u *pathUse) addRunner(c shell.Command) {
	operands, scripts := 0, permission.FindFilterScripts(c)
	for i, w := range c.Words[1:] {
		if scripts[i+1] {
			operands++
			continue
		}
		for _, field := range strings.Fields(w.Text) {
			if strings.Contains(treePrograms, " "+filepath.Base(field)+" ") || field == "find" {
				u.tree, u.search = true, field != "find"
			}
		}
		if !strings.HasPrefix(w.Text, "-") {
			operands++
		}
	}
	switch name := filepath.Base(c.Words[0].Text); name {
	case "xargs", "parallel":
		u.input = true
	case "sed", "gsed":
		u.input, u.joined = operands == 0, true
	case "tar", "gtar", "bsdtar": // -T names a list of files
		u.input = operands == 0 || hasOption(c, "", "T")
	default:
		u.input = operands == 0
	}
}

// listsFiles reports whether an option names a file with the names of files: --files-from, --pathspec-from-file, …, or
// the beginning of --files0-from, which sort, du and wc accept.
func listsFiles(c shell.Command, w shell.Word) bool {
	name, _, _ := strings.Cut(w.Text, "=")
	return strings.HasPrefix(w.Text, "--") && strings.Contains(w.Text, "from") ||
		strings.Contains(" sort du wc ", " "+filepath.Base(c.Words[0].Text)+" ") && len(name) > 3 &&
			strings.HasPrefix("--files0-from", name)
}

// plainScript is the characters of words in which every path that a program may reach stands as such.
const plainScript = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" +
	"._/:@%+,=- \t\n;&|<>()"

// hidesPaths reports whether a word for a program that runs others may name paths that are not spelt out in it, or is
// an option that changes the directory, such as -execdir.
func hidesPaths(w shell.Word) bool {
	return strings.HasPrefix(w.Text, "-") && strings.HasSuffix(w.Text, "dir") ||
		w.Text != "{}" && strings.Trim(w.Text, plainScript) != ""
}

// hasOption reports whether an option of the command contains one of the letters, or a word may turn out to be an
// option.
func hasOption(c shell.Command, prefix, letters string) bool {
	for _, w := range c.Words[1:] {
		if strings.HasPrefix(w.Text, prefix) && strings.ContainsAny(w.Text, letters) ||
			strings.HasPrefix(w.Text, shell.Hole) {
			return true
		}
	}
	return false
}

// namesFiles reports whether a search names the files to search: it has a pattern and a path, and no options but
// letters that take no value.
func namesFiles(c shell.Command) bool {
	operands := 0
	for _, w := range c.Words[1:] {
		switch {
		case !w.Literal && !w.Tilde && w.Pattern == "":
			return false
		case !strings.HasPrefix(w.Text, "-"):
			operands++
		case strings.Trim(w.Text[1:], "nilcrRwvFEHhoqsaxLP") != "":
			return false
		}
	}
	if c.Words[0].Text == "git" {
		operands--
	}
	return operands > 1
}

// expandHome returns the text of a word with its ~ replaced.
func expandHome(w shell.Word) string {
	if w.Tilde {
		return os.Getenv("HOME") + strings.TrimPrefix(w.Text, "~")
	}
	return w.Text
}

// pathCandidates returns the paths that a word may name: the word, what follows the letters of an option, and its
// pieces between the characters = : @ and a comma; of a script also those between blanks, quotes and operators.
func pathCandidates(word string, isScript bool) []string {
	out := []string{word}
	if isFileURL(word) {
		return append(out, "/") // outside of every Location
	}
	if strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") {
		for i := 2; i < len(word) && i < 6; i++ {
			out = append(out, word[i:])
		}
	}
	if isScript {
		isMark := func(c rune) bool { return strings.ContainsRune(" \t\n;&|<>(){}'\"`", c) }
		for _, field := range strings.FieldsFunc(word, isMark) {
			out = append(out, pathCandidates(field, false)...)
		}
		return out
	}
	const marks = "=:@,"
	for start := 0; start < len(word); {
		end := strings.IndexAny(word[start:], marks)
		if start > 0 {
			out = append(out, word[start:])
		}
		if end < 0 {
			break
		}
		if end > 0 {
			out = append(out, word[start:start+end])
		}
		start += end + 1
	}
	return out
}

// listSuffixes returns the ends of the words that may be relative paths.
func listSuffixes(words []string) (out []string) {
	for _, word := range words {
		for i := 1; i < len(word); i++ {
			if word[i] != '/' {
				out = append(out, word[i:])
			}
		}
	}
	return out
}

// isFileURL reports whether the word contains a URL of a file, whose path may be spelt in many ways.
func isFileURL(word string) bool { return strings.Contains(strings.ToLower(word), "file:") }

// maxLinks bounds the symbolic links of one path, as the kernel does.
const maxLinks = 40

// resolveAsKernel resolves a path component by component, following each link before a .. behind it. A part that does
// not exist is kept. If that is not possible, known is false and the rest of the path is as written: a .. behind
// something that does not exist may be made a link until it is used, and /proc leads anywhere.
func resolveAsKernel(dir, name string) (real string, known bool) {
	const anywhere = string(filepath.Separator)
	real = dir
	rest := strings.Split(name, string(filepath.Separator))
	if filepath.IsAbs(name) {
		real = anywhere
	}
	missing := false
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch {
		case part == "" || part == ".":
			continue
		case part == ".." && missing:
			return real + "/" + strings.Join(append([]string{part}, rest...), "/"), false
		case part == "..":
			real = filepath.Dir(real)
			continue
		}
		next := filepath.Join(real, part)
		if missing || next == "/proc" {
			real, missing = next, true
			continue
		}
		info, err := os.Lstat(next)
		if err != nil {
			real, missing = next, true
			continue
		}
		if info.Mode()&os.ModeSymlink == 0 {
			real = next
			missing = !info.IsDir()
			continue
		}
		target, err := os.Readlink(next)
		if links++; err != nil || links > maxLinks {
			return next, false
		}
		if filepath.IsAbs(target) {
			real = anywhere
		}
		rest = append(strings.Split(target, string(filepath.Separator)), rest...)
	}
	return real, true
}

// isKnownDir reports whether the directory exists. The root does not count, because every misread slash would lead
// there.
func isKnownDir(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir() && dir != filepath.Dir(dir)
}

// isBelowKnownDir reports whether one of the directories of the path exists, except the root.
func isBelowKnownDir(path string) bool {
	dir := filepath.Dir(path)
	for dir != filepath.Dir(dir) && !isKnownDir(dir) {
		dir = filepath.Dir(dir)
	}
	return dir != filepath.Dir(dir)
}

// isDevice reports whether the path is a device that contains no data.
func isDevice(path string) bool {
	switch path {
	case "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/stdin",
		"/dev/stdout", "/dev/stderr":
		return true
	}
	return false
}
