// Package config reads the configuration of one location: defaults, the user's files, a project's files and variables
// of the environment, laid over each other, each value with where it comes from (spec/v1 §35, spec/v2 §25).
//
// It promises:
//   - A value of the wrong kind, broken JSON or a key written twice is one *Error that names file, line, column, key
//     and what is expected; nothing is loaded then. A key nobody knows is a Warning, never an error.
//   - A project's files are anybody's words. What executes, redirects, spends or loosens is not taken from them, and
//     {env:NAME} and {file:path} in them stay as written (spec/guarantees S11). Their permission rules are kept apart
//     and may only tighten.
//   - No error, warning or explanation shows a key, a header or what a variable holds.
//
// The package writes nothing.
package config

import (
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

//go:embed defaults.jsonc
var defaults []byte

// Options say whose configuration is wanted.
type Options struct {
	Directory string // the Location, absolute; "" reads the user's configuration only
	Worktree  string // the top of its checkout, "" outside of one
	Dirs      Directories
	Env       func(string) string
}

// Config is the configuration as it was read. It never changes; safe for concurrent use.
type Config struct {
	Settings
	Permissions []RuleList // the lowest layer first
	Warnings    []Warning

	agentRules map[string][]RuleList
	root       *node
	stamps     []stamp
}

// AgentRules returns what the documents say of permissions of one agent, the lowest layer first.
func (c *Config) AgentRules(agent string) []RuleList { return c.agentRules[agent] }

// Fresh reports whether all files that were read look as they did, and none that was looked for has appeared. It
// costs one stat per file.
func (c *Config) Fresh() bool {
	return !slices.ContainsFunc(c.stamps, func(s stamp) bool { return !s.same() })
}

// Load reads the configuration.
func Load(ctx context.Context, o Options) (*Config, error) {
	l := &loader{opts: o, dirs: o.Dirs, getenv: o.Env, config: &Config{agentRules: map[string][]RuleList{}}}
	if l.getenv == nil {
		l.getenv = func(string) string { return "" }
	}
	if err := l.add(&document{name: "default", scope: scopeDefault, text: defaults}); err != nil {
		return nil, err
	}
	if err := l.files(ctx); err != nil {
		return nil, err
	}
	if err := l.variables(); err != nil {
		return nil, err
	}
	var err error
	if l.config.Settings, err = decode(l.config.root); err != nil {
		return nil, err
	}
	l.config.stamps = l.stamps
	return l.config, nil
}

// loader collects a Config, document by document.
type loader struct {
	opts   Options
	dirs   Directories
	getenv func(string) string
	stamps []stamp
	config *Config
}

func (l *loader) warn(at Place, kind WarningKind, key, message string) {
	l.config.Warnings = append(l.config.Warnings, Warning{at, kind, key, message})
}

// files adds the documents of files. One file is read once, in its first place, so that the user's own configuration
// is not a project's when somebody works in its directory.
func (l *loader) files(ctx context.Context) error {
	seen := map[string]bool{}
	for _, s := range l.sources() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		raw, err := l.read(s.path)
		if missing(err) && !s.required {
			continue
		}
		if err != nil {
			return &Error{Place{File: s.path}, "", reason(err)}
		}
		real, err := filepath.EvalSymlinks(s.path)
		if err != nil {
			real = s.path
		}
		if seen[real] {
			continue
		}
		seen[real] = true
		if err := l.add(&document{name: s.path, dir: filepath.Dir(s.path), scope: s.scope, text: raw}); err != nil {
			return err
		}
	}
	return nil
}

// variables adds what stands in the environment itself.
func (l *loader) variables() error {
	user := func(name, text string) error {
		return l.add(&document{name: name, dir: l.opts.Directory, scope: scopeUser, text: []byte(text)})
	}
	if v := Getenv(l.getenv, "CONFIG_CONTENT"); v != "" {
		if err := user("CAIRN_CONFIG_CONTENT", v); err != nil {
			return err
		}
	}
	if v := Getenv(l.getenv, "PERMISSION"); v != "" {
		d := &document{name: "CAIRN_PERMISSION", dir: l.opts.Directory, scope: scopeUser, wrap: "permission", text: []byte(v)}
		if err := l.add(d); err != nil {
			return err
		}
	}
	for name, key := range map[string]string{"DISABLE_AUTOCOMPACT": "auto", "DISABLE_PRUNE": "prune"} {
		if Switch(l.getenv, name) {
			if err := user("CAIRN_"+name, fmt.Sprintf(`{"compaction":{%q:false}}`, key)); err != nil {
				return err
			}
		}
	}
	return nil
}

// add reads a document and lays it over what is there.
func (l *loader) add(d *document) error {
	if err := d.parse(); err != nil {
		return err
	}
	if err := d.shape(); err != nil {
		return err
	}
	if d.scope != scopeProject {
		if err := l.substitute(d.root, ""); err != nil {
			return err
		}
	}
	if err := l.takeRules(d); err != nil {
		return err
	}
	c := checker{l, d}
	c.walk(d.root, reflect.TypeFor[Settings](), "", d.scope != scopeProject)
	if d.scope == scopeProject {
		l.projectInstructions(d)
		l.warnReferences(d.root, "")
	}
	if _, err := decode(d.root); err != nil {
		return err
	}
	instructions := union(l.config.root.get("instructions"), d.root.get("instructions"))
	l.config.root = merge(l.config.root, d.root)
	if instructions != nil && l.config.root != d.root {
		l.config.root.set("instructions", instructions)
	}
	return nil
}

// takeRules moves permission rules, of all and of agents, from the document to their lists: they are not merged.
func (l *loader) takeRules(d *document) error {
	list, err := l.permissions(d.root, "")
	if err != nil {
		return err
	}
	if list != nil {
		l.config.Permissions = append(l.config.Permissions, *list)
	}
	agents := d.root.get("agent")
	if agents == nil {
		return nil
	}
	for _, m := range agents.members {
		if m.value.kind != '{' {
			continue // decode says what is wrong
		}
		list, err := l.permissions(m.value, "agent."+m.key)
		if err != nil {
			return err
		}
		if list != nil {
			l.config.agentRules[m.key] = append(l.config.agentRules[m.key], *list)
		}
	}
	return nil
}

// projectInstructions takes from a project's document the instructions that lead out of the project.
func (l *loader) projectInstructions(d *document) {
	list := d.root.get("instructions")
	if list == nil || list.kind != '[' {
		return
	}
	list.items = slices.DeleteFunc(list.items, func(n *node) bool {
		if n.kind != '"' || filepath.IsLocal(n.text) && n.text[0] != '~' && !strings.Contains(n.text, "://") {
			return false
		}
		l.warn(n.place(), WarnIgnored, "instructions", "names something outside of the project, which a project's files may not")
		return true
	})
}
