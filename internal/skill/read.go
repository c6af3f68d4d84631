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

// validName is what the format allows.
var validName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// search is a walk through one place.
type search struct {
	place
	files    fs.FS
	folders  int
	seen     *stamps
	skills   []Skill
	problems []Problem
}

// find returns the skills of the place. What it looks at goes to seen before it looks.
func (p place) find(seen *stamps) ([]Skill, []Problem) {
	files, end, err := p.open()
	if err != nil {
		seen.add(p.dir())
		return nil, nil // there is no such folder
	}
	defer end()
	s := &search{place: p, files: files, seen: seen}
	s.walk(".", 0)
	return s.skills, s.problems
}

// walk looks below dir. A folder that is a skill is not searched further, and what is hidden is not searched at all.
func (s *search) walk(dir string, depth int) {
	s.seen.add(s.path(dir))
	entries, err := fs.ReadDir(s.files, dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.report(dir, "cannot be read")
		}
		return
	}
	if s.folders++; s.folders > maxFolders || depth > maxDepth {
		s.report(dir, "is not searched: there are too many folders")
		return
	}
	s.seen.add(s.path(path.Join(dir, file)))
	if info, err := fs.Stat(s.files, path.Join(dir, file)); err == nil {
		s.take(dir, info)
		return
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules" {
			continue
		}
		if info, err := fs.Stat(s.files, name); err == nil && info.IsDir() {
			s.walk(name, depth+1)
		} else if err != nil && e.Type()&fs.ModeSymlink != 0 {
			s.seen.add(s.path(name))
			s.report(name, "is a link that leads nowhere, or out of the project")
		}
	}
}

// take reads the skill in dir.
func (s *search) take(dir string, info fs.FileInfo) {
	name := path.Join(dir, file)
	switch {
	case len(s.skills) == maxSkills:
		s.report(name, fmt.Sprintf("is not used: a folder may hold %d skills", maxSkills))
		return
	case !info.Mode().IsRegular():
		s.report(name, "is not a file")
		return
	}
	text, err := read(s.files, name)
	if err != nil {
		s.report(name, err.Error())
		return
	}
	skill, err := parse(text)
	if err != nil {
		s.report(name, "is not used: "+err.Error())
		return
	}
	skill.Location, skill.foreign = s.path(name), s.foreign
	if base := filepath.Base(skill.Dir()); base != skill.Name {
		s.report(name, fmt.Sprintf("is called %s and its folder %s; they should have the same name", skill.Name, base))
	}
	s.skills = append(s.skills, skill)
}

// path is that of a name below the place.
func (s *search) path(name string) string { return filepath.Join(s.dir(), filepath.FromSlash(name)) }

func (s *search) report(name, message string) {
	if len(s.problems) < maxSkills {
		s.problems = append(s.problems, Problem{s.path(name), message})
	}
}

func read(files fs.FS, name string) ([]byte, error) {
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

// parse reads a SKILL.md.
func parse(text []byte) (Skill, error) {
	f, err := frontmatter.Read(text)
	if err != nil {
		return Skill{}, fmt.Errorf("its frontmatter cannot be read: %w", err)
	}
	name, _ := f.Fields.Get("name")
	description, _ := f.Fields.Get("description")
	switch {
	case name.Text == "":
		return Skill{}, errors.New("its frontmatter says no name")
	case len(name.Text) > 64 || !validName.MatchString(name.Text):
		return Skill{}, fmt.Errorf("its name %.70q must be 1 to 64 lower-case letters, digits and single hyphens", name.Text)
	}
	s := Skill{Name: name.Text, Description: strings.Join(strings.Fields(description.Text), " "), Content: f.Body}
	if r := []rune(s.Description); len(r) > maxDescription {
		s.Description = string(r[:maxDescription-1]) + "…"
	}
	return s, nil
}
