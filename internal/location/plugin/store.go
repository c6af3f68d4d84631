package plugin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/trust"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/statefile"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// Kit is the package that plugins import from OpenCode. It brings its client and zod.
const Kit = "@opencode-ai/plugin@1.18.33"

// Store holds the packages of plugins that the user has installed, each in a directory of its own with what it needs:
//
//	lock.json             what is installed, with the hash of each package
//	packages/NAME/        node_modules of the package; "/" in NAME is "+"
//	shared/               node_modules with Kit, for scripts that have no package
//	new/, old/            what takes a place, and what had it, during an installation
type Store struct {
	Dir         string
	Environment process.Environment // of package managers, besides networkVariables
	Supervisor  []string            // process.Spec.Supervisor
}

// NewStore returns the packages that are installed in cairn's data directory.
func NewStore(data string) *Store {
	return &Store{Dir: filepath.Join(data, "plugins"), Supervisor: process.SupervisorCommand()}
}

// Installed is a package that is installed.
type Installed struct {
	Name    string `json:"name"`
	Asked   string `json:"asked,omitzero"` // the version that was asked for; "" for the newest
	Version string `json:"version"`
	Hash    string `json:"hash"` // of the package's own files
	Scripts bool   `json:"scripts,omitzero"`
}

// Shared returns the directory whose packages all plugins can import.
func (st *Store) Shared() string { return filepath.Join(st.Dir, "shared") }

func (st *Store) lockFile() string { return filepath.Join(st.Dir, "lock.json") }

// Stamp returns a text that changes when packages are installed or removed.
func (st *Store) Stamp() string {
	info, err := os.Stat(st.lockFile())
	if err != nil {
		return ""
	}
	return info.ModTime().String()
}

// List returns the packages that are installed, by name.
func (st *Store) List() ([]Installed, error) {
	raw, err := statefile.Read(st.lockFile(), 1<<20)
	if err == nil && len(raw) == 0 { // nothing was installed yet
		return nil, nil
	}
	var out []Installed
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		return nil, fmt.Errorf("the list of installed plugins: %w", err)
	}
	return out, nil
}

// packageDir returns the directory of a package's own files.
func (st *Store) packageDir(name string) string {
	return filepath.Join(st.home(name), "node_modules", filepath.FromSlash(name))
}

// home returns the directory that belongs to a package.
func (st *Store) home(name string) string {
	return filepath.Join(st.Dir, "packages", strings.ReplaceAll(name, "/", "+"))
}

// Resolve returns the plugins that can be loaded, and why the others cannot be, by id.
func (st *Store) Resolve(plugins []config.Plugin) (specs []Spec, problems map[string]error) {
	problems = map[string]error{}
	installed, err := st.List()
	for _, one := range plugins {
		spec := Spec{ID: one.ID, File: one.File, Options: one.Options, IsTool: one.IsTool}
		failure := err
		if one.Outside {
			failure = fmt.Errorf("%s is outside of the project that names it; name it in your own configuration", one.File)
		} else if one.File != "" {
			failure = spec.resolveFile(one.Trusted)
		} else if err == nil {
			failure = st.resolvePackage(&spec, one.Name, installed)
		}
		if failure != nil {
			problems[one.ID] = failure
			continue
		}
		specs = append(specs, spec)
	}
	return specs, problems
}

// resolveFile finds the script, or the package in a directory. Trusted is what a project's may load.
func (s *Spec) resolveFile(trusted *trust.Claim) error {
	info, err := os.Stat(s.File)
	if err != nil {
		return fmt.Errorf("the plugin %s does not exist", s.File)
	}
	s.trusted = trusted
	if info.IsDir() {
		if _, err := os.Stat(filepath.Join(s.File, "package.json")); err != nil {
			return fmt.Errorf("%s has no package.json", s.File)
		}
		s.File, s.Package = "", s.File
	}
	s.Digest, err = s.hashFiles()
	return err
}

// resolvePackage finds a package that is installed in the version that is asked for and has not changed since.
func (st *Store) resolvePackage(s *Spec, asked string, installed []Installed) error {
	name, version := config.SplitPackageName(asked)
	i := slices.IndexFunc(installed, func(one Installed) bool { return one.Name == name })
	switch {
	case i < 0:
		return fmt.Errorf("the plugin %s is not installed: cairn plugin add %s", name, asked)
	case version != "" && version != "latest" && version != installed[i].Version && version != installed[i].Asked:
		return fmt.Errorf("the plugin %s is installed as %s, and the configuration wants %s: cairn plugin update %s",
			name, installed[i].Version, version, name)
	}
	hash, err := hashTree(st.packageDir(name))
	if err != nil {
		return fmt.Errorf("the plugin %s cannot be read: %w; cairn plugin update %s installs it again", name, err, name)
	}
	if hash != installed[i].Hash {
		return fmt.Errorf("the files of the plugin %s have changed since it was installed; "+
			"cairn plugin update %s installs it again", name, name)
	}
	s.Name, s.Package, s.Digest = name, st.packageDir(name), hash
	return nil
}

// Bounds of the files of a package.
const (
	maxPackageFiles = 20_000
	maxPackageBytes = 256 << 20
)

// hashTree returns the SHA-256 of the names and contents of the files below a directory, without node_modules and its Git
// directory. What is neither a file nor a link to one of them is an error.
func hashTree(dir string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }()
	h := sha256.New()
	files, size := 0, int64(0)
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == "node_modules" && d.IsDir(), path == ".git" && d.IsDir():
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		// The bounds come first: nothing that is too large is read.
		info, err := root.Stat(filepath.FromSlash(path))
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a file", path)
		}
		files, size = files+1, size+info.Size()
		if files > maxPackageFiles || size > maxPackageBytes {
			return errors.New("it has too many files, or too large ones")
		}
		return hashFile(h, root, path, info.Size())
	})
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// hashFile adds the name and the content of a file, which has size bytes.
func hashFile(h hash.Hash, root *os.Root, path string, size int64) error {
	f, err := root.Open(filepath.FromSlash(path))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	_, _ = fmt.Fprintf(h, "%d %s %d\n", len(path), path, size) // a hash takes everything
	n, err := io.Copy(h, io.LimitReader(f, size+1))
	if err == nil && n != size {
		err = fmt.Errorf("%s changes while it is read", path)
	}
	return err
}

// installTime bounds one run of a package manager.
const installTime = 5 * time.Minute

// Install installs a package, named as IsPackageName wants it, in the place of an older one. Install scripts of it and
// of what it needs run only if scripts is set. An error changes nothing.
func (st *Store) Install(ctx context.Context, asked string, scripts bool) (Installed, error) {
	if !config.IsPackageName(asked) {
		return Installed{}, session.Errorf(session.CodeInvalid,
			"%.200q is not the name of an npm package: use name, @scope/name or one of them with @version", asked)
	}
	name, version := config.SplitPackageName(asked)
	one := Installed{Name: name, Asked: version, Scripts: scripts}
	err := st.locked(ctx, func() error {
		if err := st.installKit(ctx); err != nil {
			return err
		}
		next, err := st.fetch(ctx, asked, scripts)
		defer func() { _ = os.RemoveAll(next) }() // it has taken its place if all is well
		if err != nil {
			return err
		}
		// Read what came before it takes the place of the old one.
		dir := filepath.Join(next, "node_modules", filepath.FromSlash(name))
		if one.Version, err = readVersion(dir); err == nil {
			one.Hash, err = hashTree(dir)
		}
		if err != nil {
			return fmt.Errorf("the package %s: %w", name, err)
		}
		return st.replace(st.home(name), next, func() error {
			return st.write(func(list []Installed) []Installed { return append(list, one) }, name)
		})
	})
	if err != nil {
		return Installed{}, err
	}
	return one, nil
}

// readVersion returns the version of the package in a directory.
func readVersion(dir string) (string, error) {
	var about struct {
		Version string `json:"version"`
	}
	raw, err := statefile.ReadRegular(filepath.Join(dir, "package.json"), 1<<20)
	if err == nil {
		err = json.Unmarshal(raw, &about)
	}
	if err == nil && about.Version == "" {
		err = errors.New("its package.json has no version")
	}
	return about.Version, err
}

// Remove removes a package. It reports whether it was installed.
func (st *Store) Remove(ctx context.Context, name string) (was bool, err error) {
	err = st.locked(ctx, func() error {
		list, err := st.List()
		if err != nil {
			return err
		}
		was = slices.ContainsFunc(list, func(one Installed) bool { return one.Name == name })
		if !was {
			return nil
		}
		if err := st.write(func(list []Installed) []Installed { return list }, name); err != nil {
			return err
		}
		return os.RemoveAll(st.home(name))
	})
	return was, err
}

// InstallKit installs the packages that scripts import, unless they are there.
func (st *Store) InstallKit(ctx context.Context) error {
	return st.locked(ctx, func() error { return st.installKit(ctx) })
}

func (st *Store) installKit(ctx context.Context) error {
	name, version := config.SplitPackageName(Kit)
	here, err := readVersion(filepath.Join(st.Shared(), "node_modules", filepath.FromSlash(name)))
	if err == nil && here == version {
		return nil
	}
	next, err := st.fetch(ctx, Kit, false)
	defer func() { _ = os.RemoveAll(next) }() // it has taken its place if all is well
	if err != nil {
		return err
	}
	return st.replace(st.Shared(), next, func() error { return nil })
}

// locked calls f while no other process changes the store.
func (st *Store) locked(ctx context.Context, f func() error) error {
	if err := os.MkdirAll(filepath.Join(st.Dir, "packages"), 0o700); err != nil {
		return err
	}
	return statefile.WithLock(ctx, st.lockFile(), f)
}

// write changes the list of what is installed; add gets it without the named package. The lock is held.
func (st *Store) write(add func([]Installed) []Installed, name string) error {
	list, err := st.List()
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(one Installed) bool { return one.Name == name })
	list = add(list)
	slices.SortFunc(list, func(a, b Installed) int { return cmp.Compare(a.Name, b.Name) })
	raw, err := json.Marshal(list, jsontext.WithIndent("\t"))
	if err != nil {
		return err
	}
	return statefile.Replace(st.lockFile(), append(raw, '\n'), 0o600)
}

// fetch makes a directory that has the package and what it needs. It belongs to the caller, also after an error. The lock
// is held.
func (st *Store) fetch(ctx context.Context, asked string, scripts bool) (next string, err error) {
	next = filepath.Join(st.Dir, "new")
	if err := errors.Join(os.RemoveAll(next), os.MkdirAll(next, 0o700)); err != nil {
		return next, err
	}
	// A package.json keeps the manager from using one further up.
	about := []byte(`{"name":"cairn-plugins","private":true}` + "\n")
	if err := os.WriteFile(filepath.Join(next, "package.json"), about, 0o600); err != nil {
		return next, err
	}
	argv, err := managerCommand(asked, scripts)
	if err != nil {
		return next, err
	}
	return next, st.run(ctx, argv, next)
}

// replace puts the directory next in the place of dir and calls record. If that fails the old one is there again. The
// lock is held.
func (st *Store) replace(dir, next string, record func() error) error {
	old := filepath.Join(st.Dir, "old")
	if err := os.RemoveAll(old); err != nil {
		return err
	}
	hadOld := true
	switch err := os.Rename(dir, old); {
	case errors.Is(err, fs.ErrNotExist):
		hadOld = false
	case err != nil:
		return err
	}
	err := os.Rename(next, dir)
	if err == nil {
		err = record()
	}
	if err == nil {
		return os.RemoveAll(old)
	}
	err = errors.Join(err, os.RemoveAll(dir))
	if hadOld {
		err = errors.Join(err, os.Rename(old, dir))
	}
	return err
}

// managerCommand returns the command line that adds a package to the current directory.
func managerCommand(asked string, scripts bool) ([]string, error) {
	var argv []string
	if npm, err := exec.LookPath("npm"); err == nil {
		argv = []string{npm, "install", "--no-audit", "--no-fund", "--save-exact", "--loglevel=error"}
	} else if bun, err := exec.LookPath("bun"); err == nil {
		argv = []string{bun, "add", "--exact", "--no-progress"}
	} else {
		return nil, session.Errorf(session.CodeUnavailable, "plugins are installed with npm or Bun, and neither is on PATH")
	}
	if !scripts {
		argv = append(argv, "--ignore-scripts")
	}
	return append(argv, asked), nil
}

// run runs a package manager in a directory.
func (st *Store) run(ctx context.Context, argv []string, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, installTime)
	defer cancel()
	child, err := process.StartChild(process.Spec{
		Argv: argv, Dir: dir, Env: withNetwork(st.Environment).List(), Supervisor: st.Supervisor, Processes: process.MaxProcesses,
	})
	if err != nil {
		return err
	}
	defer child.CloseWithin(0)
	_ = child.In.Close()
	output := child.CollectOutput()
	name := filepath.Base(argv[0])
	select {
	case <-ctx.Done():
		return fmt.Errorf("%s was stopped: %w", name, context.Cause(ctx))
	case <-child.Done():
	}
	if code, _ := child.ExitStatus(); code != 0 {
		said := strings.TrimSpace(child.ReadErrors() + "\n" + output())
		return session.Errorf(session.CodeUnavailable, "%s failed with exit code %d:\n%s", name, code,
			session.ClipText(said, 2000))
	}
	return nil
}
