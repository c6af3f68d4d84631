package skill

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/location/webcache"
)

// remoteLimit bounds how long a search waits for pages that were never fetched.
const remoteLimit = 2 * time.Second

// addRemote adds the skills of the configured URLs: each has an index.json that names its skills, and a SKILL.md below
// the name of each. Other files are read when the skill is loaded. A page that cannot be reached stays what it was; a
// skill that is found in a folder takes precedence.
func (o Options) addRemote(f Set) Set {
	if len(o.URLs) == 0 || o.Pages == nil {
		return f
	}
	// All pages together have one time limit.
	ctx, cancel := context.WithTimeout(context.Background(), remoteLimit)
	defer cancel()
	// Work on a copy: the caller's set may be shared.
	f = Set{slices.Clone(f.Skills), slices.Clone(f.Problems)}
	// Read the index of each address; an unreachable one is a problem to show, not an error.
	for _, address := range o.URLs {
		base := strings.TrimSuffix(address, "/")
		entries, err := o.readIndex(ctx, base)
		if err != nil {
			f.Problems = append(f.Problems, Problem{webcache.ShowAddress(base), err.Error()})
			continue
		}
		// Read each skill. It must have the name that the index gives it, and a name that is not taken.
		for _, entry := range entries {
			name := entry.Name
			s, err := o.readRemote(ctx, base+"/"+name)
			if err == nil && s.Name != name {
				err = errors.New("has the name " + s.Name + ", but the index calls it " + name)
			}
			if _, twice := f.Get(name); err == nil && twice {
				err = errors.New("is not used: there is another skill of the name " + name)
			}
			if err != nil {
				f.Problems = append(f.Problems, Problem{s.Location, err.Error()})
				continue
			}
			s.listed = listedFiles(entry.Files)
			f.Skills = append(f.Skills, s)
		}
	}
	// Keep the order by name.
	slices.SortFunc(f.Skills, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
	return f
}

// indexEntry is a skill of a collection, with the paths of its files.
type indexEntry struct {
	Name  string   `json:"name"`
	Files []string `json:"files"`
}

// readIndex returns the skills of a collection.
func (o Options) readIndex(ctx context.Context, base string) (entries []indexEntry, err error) {
	if u, err := url.Parse(base); err != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("is not used: the URL of a collection has no query and no fragment")
	}
	raw, err := o.readPage(ctx, base+"/index.json")
	if err != nil {
		return nil, err
	}
	var index struct {
		Skills []indexEntry `json:"skills"`
	}
	if err := json.Unmarshal(raw, &index); err != nil {
		return nil, errors.New("is not used: its index.json is invalid")
	}
	for _, s := range index.Skills[:min(len(index.Skills), maxSkills)] {
		if validName.MatchString(s.Name) && slices.Contains(s.Files, file) {
			entries = append(entries, s)
		}
	}
	return entries, nil
}

// readRemote reads the SKILL.md of a folder.
func (o Options) readRemote(ctx context.Context, address string) (Skill, error) {
	location := webcache.ShowAddress(address + "/" + file)
	raw, err := o.readPage(ctx, address+"/"+file)
	if err != nil {
		return Skill{Location: location}, err
	}
	s, err := parseSkill(raw)
	if err != nil {
		err = errors.New("is not used: " + err.Error())
	}
	s.Location, s.address, s.folder = location, address, o.downloadFolder(address)
	return s, err
}

// readPage returns a page that is small enough to be used whole.
func (o Options) readPage(ctx context.Context, address string) ([]byte, error) {
	if err := o.Pages.Check(address); err != nil {
		return nil, err
	}
	raw, err := o.Pages.Read(ctx, address)
	if err == nil && len(raw) > webcache.MaxBody {
		err = errors.New("is not used: it is larger than 256 KiB")
	}
	return raw, err
}

// downloadFolder returns the folder of the files that belong to the skill of an address.
func (o Options) downloadFolder(address string) string {
	sum := sha256.Sum256([]byte(address))
	return filepath.Join(o.Downloads, hex.EncodeToString(sum[:12]))
}

// listedFiles returns the names of the files beside the SKILL.md that may be stored: no hidden ones and none elsewhere.
func listedFiles(files []string) (names []string) {
	for _, name := range files {
		hidden := strings.HasPrefix(name, ".") || strings.Contains(name, "/.")
		if name != file && name == path.Clean(name) && fs.ValidPath(name) && !hidden && filepath.IsLocal(name) {
			names = append(names, name)
		}
	}
	return names
}
