package skill

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/frontmatter"
)

const (
	file           = "SKILL.md"
	maxFile        = 256 << 10 // bytes of one SKILL.md
	maxDescription = 1024      // characters
	maxSkills      = 200       // of one folder
	maxFolders     = 1000      // below one folder
	maxDepth       = 6
)

// validName is the format of a skill's name.
var validName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// folderWalk is the search through one folder.
type folderWalk struct {
	folder
	files    fs.FS
	folders  int
	seen     *fileStates
	skills   []Skill
	problems []Problem
}

// findSkills returns the skills of the folder. It adds every path to seen before it reads it.
func (p folder) findSkills(seen *fileStates) ([]Skill, []Problem) {
	files, end, err := p.openFiles()
	if err != nil {
		seen.addPath(p.dir())
		return nil, nil // the folder does not exist
	}
	defer end()
	s := &folderWalk{folder: p, files: files, seen: seen}
	s.walkDir(".", 0)
	return s.skills, s.problems
}

// walkDir searches below dir. It does not search below a skill, nor in hidden folders.
func (s *folderWalk) walkDir(dir string, depth int) {
	// Every path that is looked at is recorded, so that a later change of it is noticed.
	s.seen.addPath(s.pathOf(dir))
	entries, err := fs.ReadDir(s.files, dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.addProblem(dir, "cannot be read")
		}
		return
	}
	// The bounds keep a mistaken folder, such as a home directory, from being searched completely.
	if s.folders++; s.folders > maxFolders || depth > maxDepth {
		s.addProblem(dir, "is not searched: there are too many folders")
		return
	}
	// A folder with a SKILL.md is a skill.
	s.seen.addPath(s.pathOf(path.Join(dir, file)))
	if info, err := fs.Stat(s.files, path.Join(dir, file)); err == nil {
		s.readSkill(dir, info)
		return
	}
	// Else search the folders in it. Links count as what they lead to, but not out of the files.
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules" {
			continue
		}
		if info, err := fs.Stat(s.files, name); err == nil && info.IsDir() {
			s.walkDir(name, depth+1)
		} else if err != nil && e.Type()&fs.ModeSymlink != 0 {
			s.seen.addPath(s.pathOf(name))
			s.addProblem(name, "is a symbolic link that is broken or leads out of the project")
		}
	}
}

// readSkill reads the skill in dir.
func (s *folderWalk) readSkill(dir string, info fs.FileInfo) {
	name := path.Join(dir, file)
	switch {
	case len(s.skills) == maxSkills:
		s.addProblem(name, fmt.Sprintf("is not used: the limit is %d skills in a folder", maxSkills))
		return
	case !info.Mode().IsRegular():
		s.addProblem(name, "is not a file")
		return
	}
	text, err := readFile(s.files, name)
	if err != nil {
		s.addProblem(name, err.Error())
		return
	}
	skill, err := parseSkill(text)
	if err != nil {
		s.addProblem(name, "is not used: "+err.Error())
		return
	}
	skill.Location, skill.untrusted = s.pathOf(name), s.foreign
	for _, key := range skill.repeated {
		s.addProblem(name, fmt.Sprintf("defines %s twice in its frontmatter; the last value counts", key))
	}
	if base := filepath.Base(skill.Dir()); base != skill.Name {
		s.addProblem(name, fmt.Sprintf("has the name %s, but its folder is %s; give both the same name", skill.Name, base))
	}
	s.skills = append(s.skills, skill)
}

// pathOf returns the path of a name below the folder.
func (s *folderWalk) pathOf(name string) string {
	return filepath.Join(s.dir(), filepath.FromSlash(name))
}

func (s *folderWalk) addProblem(name, message string) {
	if len(s.problems) < maxSkills {
		s.problems = append(s.problems, Problem{s.pathOf(name), message})
	}
}

func readFile(files fs.FS, name string) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, errors.New("cannot be read")
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.New("is not a file")
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, errors.New("cannot be read")
	case len(raw) > maxFile:
		return nil, fmt.Errorf("is not used: it is larger than %d KiB", maxFile>>10)
	case !utf8.Valid(raw):
		return nil, errors.New("is not used: it is not UTF-8")
	}
	return raw, nil
}

// parseSkill parses a SKILL.md.
func parseSkill(text []byte) (Skill, error) {
	f, err := frontmatter.Read(text)
	if err != nil {
		return Skill{}, fmt.Errorf("its frontmatter cannot be read: %w", err)
	}
	name, _ := f.Fields.Get("name")
	description, _ := f.Fields.Get("description")
	switch {
	case name.Text == "":
		return Skill{}, errors.New("its frontmatter has no name")
	case len(name.Text) > 64 || !validName.MatchString(name.Text):
		return Skill{}, fmt.Errorf("its name %.70q must be 1 to 64 lower-case letters, digits and single hyphens", name.Text)
	}
	s := Skill{Name: name.Text, Description: strings.Join(strings.Fields(description.Text), " "), Content: f.Body}
	for _, m := range f.Fields.Repeated {
		s.repeated = append(s.repeated, m.Key)
	}
	if r := []rune(s.Description); len(r) > maxDescription {
		s.Description = string(r[:maxDescription-1]) + "…"
	}
	return s, nil
}
