package lsp

import (
	_ "embed"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/location/config"
)

// Server describes a language server: which files it serves, where its root is, and how it is started. It is data.
type Server struct {
	ID         string   `json:"id"`
	Extensions []string `json:"extensions"` // with the dot; of files without an extension the whole name
	// Roots are groups of file names. The root is the nearest directory, from the file up to the worktree, that has a
	// file of the first group for which there is one. Patterns are those of path/filepath.Match.
	Roots    [][]string `json:"roots"`
	Strict   bool       `json:"strict"`   // without such a file the server is not used; else the root is the location
	Excludes []string   `json:"excludes"` // not used for files at or below a directory that has one of these files
	Programs []Program  `json:"programs"`
	// RunsProject: the server executes code of the project, e.g. its build file, its configuration or its compiler.
	RunsProject bool     `json:"runsProject"`
	Install     string   `json:"install"`  // the command that installs it, or where that is described
	Optional    bool     `json:"optional"` // not reported as missing: most projects with such files do not use it
	Pass        []string `json:"pass"`     // variables of this process that it gets besides the usual ones
	Env         []string `json:"env"`      // NAME=value
	// Initialization are the initializationOptions, and what the server gets for workspace/configuration.
	Initialization jsontext.Value `json:"initialization"`
}

// Program is a way to start a server. The first one that applies and is found is used.
type Program struct {
	Argv     []string  `json:"argv"`
	Requires string    `json:"requires"` // a file that must exist in the root or above; "" for none
	Settings []Setting `json:"settings"` // of Initialization; only in trusted projects
}

// Setting is a member of Initialization whose value is the path of a file of the project.
type Setting struct {
	Key   string   `json:"key"`   // e.g. "tsserver.path"
	Files []string `json:"files"` // sought in the root and above; without one of them the member is left out
}

// table has the language servers that are known. Their names and extensions are those of OpenCode, so that its
// configurations apply.
//
//go:embed servers.json
var table []byte

// readTable decodes the table.
func readTable() ([]Server, error) {
	var servers []Server
	err := json.Unmarshal(table, &servers, json.RejectUnknownMembers(true))
	return servers, err
}

// Select returns the servers that the configuration's key lsp selects: none without it, else those of the table, as it
// changes them by name, and its own. Problems name what is left out.
func Select(byName config.LanguageServers) (servers []Server, problems []string) {
	if byName == nil {
		return nil, nil
	}
	servers, err := readTable()
	if err != nil {
		return nil, []string{err.Error()} // a test excludes it
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		i := slices.IndexFunc(servers, func(s Server) bool { return s.ID == name })
		if byName[name].Disabled {
			if i >= 0 {
				servers = slices.Delete(servers, i, i+1)
			}
			continue
		}
		if i < 0 {
			servers, i = append(servers, Server{ID: name}), len(servers)
		}
		servers[i] = servers[i].configure(byName[name])
		if s := servers[i]; len(s.Programs) == 0 || len(s.Extensions) == 0 {
			problems = append(problems, fmt.Sprintf("lsp.%s needs a command and extensions", name))
			servers = slices.Delete(servers, i, i+1)
		}
	}
	return servers, problems
}

// configure returns the server as it is configured.
func (s Server) configure(c config.LanguageServer) Server {
	if len(c.Command) > 0 {
		s.Programs, s.Install, s.Optional = []Program{{Argv: c.Command}}, "", false
	}
	if c.Extensions != nil {
		s.Extensions = c.Extensions
	}
	if len(c.Initialization) > 0 {
		s.Initialization = c.Initialization
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		s.Env = append(slices.Clip(s.Env), name+"="+c.Env[name])
	}
	return s
}

// serves reports whether the server is for files of this name.
func (s Server) serves(path string) bool { return slices.Contains(s.Extensions, extensionOf(path)) }

// extensionOf returns the extension of a file with its dot, or the name of a file without one.
func extensionOf(path string) string {
	if ext := filepath.Ext(path); ext != "" && ext != filepath.Base(path) {
		return strings.ToLower(ext)
	}
	return filepath.Base(path)
}
