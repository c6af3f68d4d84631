// Package trust decides whether the files of a project may execute commands, redirect requests or loosen rules. The
// parts of them that do are a Claim. It has no effect until the user trusts exactly this content in this checkout. A
// changed file is another claim, so the user is asked again.
//
// Nothing here runs or connects to anything: a claim is read, hashed and compared.
package trust

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"path"
	"slices"
	"strings"
)

// None is the Override with which nothing is trusted, whatever is stored.
const None = "none"

// Claim lists the content of one project's files that needs trust.
type Claim struct {
	Root    string   // the real path of the checkout, or of the directory outside of one
	Project string   // its identity
	Files   []File   // by path, each once
	Problem string   // why this cannot be trusted at all; "" if it can
	Absent  []string // paths below the root that must not exist: an import would find them instead of a file of the claim

	bytes int64 // of the files that were read
}

// File is one file of a claim, and why it needs trust.
type File struct {
	Path string            `json:"path"` // below the root, with slashes
	Sum  [sha256.Size]byte `json:"-"`
	Why  []string          `json:"why"` // keys of a configuration, or what the file is
}

// IsEmpty reports whether there is nothing to trust.
func (c *Claim) IsEmpty() bool { return len(c.Files) == 0 && c.Problem == "" }

// Hash returns the hash of the content: the same files with the same bytes have the same hash.
func (c *Claim) Hash() string {
	h := sha256.New()
	for _, f := range c.Files {
		_ = binary.Write(h, binary.BigEndian, int64(len(f.Path))) // never fails for a hash
		h.Write([]byte(f.Path))
		h.Write(f.Sum[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// HashWithoutPlugins returns the hash under which the content is trusted although the programs of ListUnrun, which may
// guard it, do not run.
func (c *Claim) HashWithoutPlugins() string {
	sum := sha256.Sum256([]byte("without plugins\n" + c.Hash()))
	return hex.EncodeToString(sum[:])
}

// The reasons of files that may guard what the project's rules allow.
const (
	WhyPlugin  = "a plugin"
	WhyTool    = "a tool"
	WhyHook    = "a hook"
	WhyPlugins = "plugin"    // the key of a configuration
	WhyNamed   = "named by " // followed by the name of the configuration
	whyImport  = "imported by "
)

// ListUnrun returns the files of the claim that are, or name, plugins, tools and hooks that do not run. Markdown and hidden
// files are not programs, and hooks that the configuration names are run; so are plugins and tools if all that can run
// are loaded.
func (c *Claim) ListUnrun(loaded bool) (names []string) {
	for _, f := range c.Files {
		if loaded && (IsScript(f.Path) || slices.Contains(f.Why, WhyPlugins)) && !slices.Contains(f.Why, WhyHook) {
			continue
		}
		isNamed := f.isNamed() || c.hasNamedBeside(f.Path)
		isProgram := IsProgram(f.Path) && slices.ContainsFunc(f.Why, func(why string) bool {
			return why == WhyPlugin || why == WhyTool || why == WhyHook && !isNamed
		})
		if isProgram || slices.Contains(f.Why, WhyPlugins) {
			names = append(names, f.Path)
		}
	}
	return names
}

// IsRun reports whether the file is a script of a folder of plugins or tools, or one that the configuration names.
func (f *File) IsRun() bool {
	return IsScript(f.Path) && (slices.Contains(f.Why, WhyPlugin) || slices.Contains(f.Why, WhyTool) || f.isNamed())
}

// ListPrograms returns the part of the claim that the plugin host may load: the scripts of plugins and tools,
// the files that the configuration names, and what these import.
func (c *Claim) ListPrograms() *Claim {
	out := &Claim{Root: c.Root, Project: c.Project, Absent: c.Absent}
	for _, f := range c.Files {
		isImported := slices.ContainsFunc(f.Why, func(why string) bool { return strings.HasPrefix(why, whyImport) })
		if isImported || f.IsRun() || f.isNamed() {
			out.Files = append(out.Files, f)
		}
	}
	return out
}

// has reports whether the claim has the file.
func (c *Claim) has(name string) bool {
	return slices.ContainsFunc(c.Files, func(f File) bool { return f.Path == name })
}

// isNamed reports whether the configuration names the file.
func (f *File) isNamed() bool {
	return slices.ContainsFunc(f.Why, func(why string) bool { return strings.HasPrefix(why, WhyNamed) })
}

// hasNamedBeside reports whether the configuration names another file of the directory: then the rest of a folder of hooks
// are what these use.
func (c *Claim) hasNamedBeside(name string) bool {
	return slices.ContainsFunc(c.Files, func(f File) bool { return path.Dir(f.Path) == path.Dir(name) && f.isNamed() })
}

// IsProgram reports whether the file of a folder of plugins, tools or hooks can be one.
func IsProgram(name string) bool {
	base := path.Base(name)
	return base[0] != '.' && !strings.EqualFold(path.Ext(base), ".md")
}

// IsScript reports whether the file of a folder of plugins or tools is one that cairn runs, as
// OpenCode does.
func IsScript(name string) bool {
	return path.Base(name)[0] != '.' && (path.Ext(name) == ".ts" || path.Ext(name) == ".js")
}

// Add adds a file, or further reasons to one that was added before.
func (c *Claim) Add(path string, content []byte, why ...string) {
	i, found := slices.BinarySearchFunc(c.Files, path, func(f File, path string) int {
		return cmp.Compare(f.Path, path)
	})
	if !found {
		c.Files = slices.Insert(c.Files, i, File{Path: path, Sum: sha256.Sum256(content)})
	}
	for _, w := range why {
		if !slices.Contains(c.Files[i].Why, w) {
			c.Files[i].Why = append(c.Files[i].Why, w)
		}
	}
}

// SetProblem notes that a path keeps the claim from being trusted. The first one counts.
func (c *Claim) SetProblem(path, why string) {
	if c.Problem == "" {
		c.Problem = path + " " + why
	}
}

// Judge decides about claims: by the store, and by the override of one command.
type Judge struct {
	Store    *Store
	Override string // None; the hash of a claim that is trusted too; or "" for the store alone
}

// IsTrusted reports whether the claim may take effect. An empty claim may not.
func (j Judge) IsTrusted(c *Claim) bool {
	switch {
	case c.Problem != "" || c.IsEmpty() || j.Override == None:
		return false
	case strings.EqualFold(j.Override, c.Hash()) || strings.EqualFold(j.Override, c.HashWithoutPlugins()):
		return true
	default:
		return j.Store.IsTrusted(c)
	}
}

// MayAllow reports whether the allow rules of a trusted claim have effect: nothing that could guard them is left out,
// or the claim is trusted without it. Loaded is that of ListUnrun.
func (j Judge) MayAllow(c *Claim, loaded bool) bool {
	return len(c.ListUnrun(loaded)) == 0 || strings.EqualFold(j.Override, c.HashWithoutPlugins()) ||
		j.Store.contains(c, c.HashWithoutPlugins())
}

// RunsPlugins reports whether the plugins and tools of a trusted claim run: it is not trusted without them alone.
func (j Judge) RunsPlugins(c *Claim) bool {
	return strings.EqualFold(j.Override, c.Hash()) || j.Store.contains(c, c.Hash())
}

// Path returns the file whose change may change the decisions.
func (j Judge) Path() string { return j.Store.Path() }

// IsOverride reports whether text is an Override for a Judge: None or the hash of a claim.
func IsOverride(text string) bool {
	raw, err := hex.DecodeString(text)
	return text == None || err == nil && len(raw) == sha256.Size
}
