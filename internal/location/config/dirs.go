package config

import (
	"fmt"
	"path/filepath"
	"runtime"
)

// Directories are cairn's directories. All paths are absolute. They need not exist: the first writer creates them with
// mode 0700.
type Directories struct {
	Home    string // the user's home; "" when unknown
	Config  string // cairn.json[c], AGENTS.md
	Data    string // the store, auth.json, managed output files
	State   string // logs, locks
	Cache   string // data that can be fetched again
	Runtime string // the socket and the discovery file of a running server
	// Worktrees is where linked worktrees of git are made. It is not in Data, which tools cannot read.
	Worktrees string
	Foreign   string   // OpenCode's configuration, read as the lowest layer; "" when CAIRN_HOME is set
	Managed   []string // the administrator's configuration, read as the highest layer
}

// BackgroundLog returns the path of the log of servers that run in the background.
func (d Directories) BackgroundLog() string { return filepath.Join(d.State, "background.log") }

// FindDirectories derives the directories from the environment: below CAIRN_HOME if it is set (config, data, state,
// cache, run), else from the XDG base directories, each with /cairn. Relative paths in XDG variables are ignored, as
// the XDG specification requires.
func FindDirectories(getenv func(string) string) (Directories, error) {
	// Find the home directory. A relative one would depend on the working directory, so it counts as missing.
	home := getenv("HOME")
	if home == "" {
		home = getenv("USERPROFILE")
	}
	if !filepath.IsAbs(home) {
		home = ""
	}
	// CAIRN_HOME has precedence and moves everything below it.
	if own := getenv("CAIRN_HOME"); own != "" {
		if !filepath.IsAbs(own) {
			return Directories{}, fmt.Errorf("CAIRN_HOME must be an absolute path, got %q", own)
		}
		in := func(name string) string { return filepath.Join(own, name) }
		return Directories{
			Home: home, Config: in("config"), Data: in("data"), State: in("state"), Cache: in("cache"), Runtime: in("run"),
			Worktrees: in("worktrees"), Managed: managedDirs(getenv),
		}, nil
	}
	// Otherwise each directory has its XDG variable, and a default below the home directory.
	base := func(variable string, fallback ...string) string {
		if dir := getenv(variable); filepath.IsAbs(dir) {
			return dir
		}
		if home == "" {
			return ""
		}
		return filepath.Join(append([]string{home}, fallback...)...)
	}
	config := base("XDG_CONFIG_HOME", ".config")
	data, state, cache := base("XDG_DATA_HOME", ".local", "share"), base("XDG_STATE_HOME", ".local", "state"), base(
		"XDG_CACHE_HOME",
		".cache",
	)
	// Without a home directory all four variables must be set.
	if config == "" || data == "" || state == "" || cache == "" {
		return Directories{}, fmt.Errorf("neither HOME nor CAIRN_HOME is set to an absolute path: set one of them")
	}
	in := func(dir string) string { return filepath.Join(dir, "cairn") }
	d := Directories{
		Home: home, Config: in(config), Data: in(data), State: in(state), Cache: in(cache),
		Worktrees: filepath.Join(data, "cairn-worktrees"),
		Foreign:   filepath.Join(config, "opencode"), Managed: managedDirs(getenv),
	}
	// Sockets are in the runtime directory; systems without one use the state directory.
	d.Runtime = filepath.Join(d.State, "run")
	if run := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(run) {
		d.Runtime = in(run)
	}
	return d, nil
}

// managedDirs returns the directories of the machine's administrator. No variable of cairn moves them.
func managedDirs(getenv func(string) string) []string {
	var top string
	switch runtime.GOOS {
	case "darwin":
		top = "/Library/Application Support"
	case "windows":
		top = getenv("ProgramData")
	default:
		top = "/etc"
	}
	if !filepath.IsAbs(top) {
		return nil
	}
	return []string{filepath.Join(top, "opencode"), filepath.Join(top, "cairn")}
}
