// Package config reads the configuration of one location: defaults, the user's files, a project's files and variables
// of the environment, laid over each other, each value with where it comes from (spec/v1 §35, spec/v2 §25).
//
// It promises:
//   - A value of the wrong kind, broken JSON or a key written twice is one *Error that names file, line, column, key
//     and what is expected; nothing is loaded then. A key nobody knows is a Warning, never an error.
//   - A project's files are anybody's words. What executes, redirects, spends or loosens is not taken from them before
//     that very content is trusted, and their permission rules are kept apart and may only tighten. {env:NAME} and
//     {file:path} in them stay as written, always (spec/guarantees S11).
//   - No error, warning or explanation shows a key, a header or what a variable holds.
//
// Nothing is written but what Change is asked for.
package config

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/trust"
)

const maxErrors = 100 // of one configuration

//go:embed defaults.jsonc
var defaults []byte

// Options say whose configuration is wanted.
type Options struct {
	Directory string       // the Location, absolute; "" reads the user's configuration only
	Worktree  string       // the top of its checkout, "" outside of one
	Project   string       // the project's identity, for trust
	Trust     *trust.Judge // says whether the project's files are trusted; nil: they are not
	Remotes   []Remote     // of organisations, the lowest first
	All       bool         // go on after what is wrong in a document, and keep it in Config.Errors
	Dirs      Directories
	Env       func(string) string
}

// Config is the configuration as it was read. It never changes; safe for concurrent use.
type Config struct {
	Settings
	Permissions []RuleList // the lowest layer first
	Warnings    []Warning
	Errors      []*Error     // with Options.All: why this configuration cannot be used
	Claim       *trust.Claim // what the project's files want beyond speaking
	Trusted     bool         // and that they may
	Remotes     []RemoteState
	Dirs        Directories

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
	l := &loader{opts: o, dirs: o.Dirs, getenv: o.Env, seen: map[string]bool{}, config: &Config{Dirs: o.Dirs, agentRules: map[string][]RuleList{}}}
	if l.getenv == nil {
		l.getenv = func(string) string { return "" }
	}
	if err := l.add(&document{name: "default", scope: scopeDefault, text: defaults}); err != nil {
		return nil, err
	}
	if err := l.remotes(ctx); err != nil {
		return nil, err
	}
	if err := l.files(ctx); err != nil {
		return nil, err
	}
	if err := l.variables(); err != nil {
		return nil, err
	}
	managed, err := l.collect(ctx, l.managed())
	if err != nil {
		return nil, err
	}
	for _, d := range managed {
		d.managed = true
		if err := l.take(d); err != nil {
			return nil, err
		}
	}
	if l.config.Settings, _, err = decode(l.config.root); err != nil {
		return nil, err
	}
	l.options()
	l.config.stamps = l.stamps
	return l.config, nil
}

// loader collects a Config, document by document.
type loader struct {
	opts     Options
	dirs     Directories
	getenv   func(string) string
	seen     map[string]bool // files that were read, by their real paths
	stamps   []stamp
	own      map[string]bool // commands of the user's
	literal  bool            // {env:NAME} and {file:path} are not followed
	withheld []member        // what is held back of a project's documents until it is trusted
	config   *Config
}

func (l *loader) warn(at Place, kind WarningKind, key, message string) {
	l.config.Warnings = append(l.config.Warnings, Warning{at, kind, key, message})
}

// wrong keeps an error of a document when all of them are wanted, and else returns it.
func (l *loader) wrong(err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || !l.opts.All {
		return err
	}
	if len(l.config.Errors) < maxErrors {
		l.config.Errors = append(l.config.Errors, e)
	}
	return nil
}

// files adds the documents of files.
func (l *loader) files(ctx context.Context) error {
	docs, err := l.collect(ctx, l.sources())
	if err != nil {
		return err
	}
	trusted := l.trusted(docs)
	for _, d := range docs {
		if trusted && d.scope == scopeProject {
			d.scope = scopeTrusted
		}
		if err := l.take(d); err != nil {
			return err
		}
	}
	return nil
}

// collect reads the documents of sources. One file is read once, in its first place, so that the user's own
// configuration is not a project's when somebody works in its directory.
func (l *loader) collect(ctx context.Context, sources []source) ([]*document, error) {
	var docs []*document
	for _, s := range sources {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if s.part != "" && s.entry == "" {
			more, err := l.collect(ctx, l.markdowns(s))
			if err != nil {
				return nil, err
			}
			docs = append(docs, more...)
			continue
		}
		raw, err := l.read(s.path)
		if missing(err) && !s.required {
			continue
		}
		if err != nil && s.spared(err) {
			l.warn(Place{File: s.path}, WarnUnread, "", "is not read: "+reason(err))
			continue
		}
		if err != nil {
			if err := l.wrong(&Error{Place{File: s.path}, "", reason(err)}); err != nil {
				return nil, err
			}
			continue
		}
		if !l.first(s.path) {
			continue
		}
		docs = append(docs, &document{name: s.path, dir: filepath.Dir(s.path), scope: s.scope, part: s.part, entry: s.entry, text: raw})
	}
	return docs, nil
}

// first reports whether the file was not read before, under any name.
func (l *loader) first(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	was := l.seen[real]
	l.seen[real] = true
	return !was
}

// take adds a document, unless it cannot be used and all that is wrong is wanted.
func (l *loader) take(d *document) error { return l.wrong(l.add(d)) }

// variables adds what stands in the environment itself.
func (l *loader) variables() error {
	user := func(name, text string) error {
		return l.take(&document{name: name, dir: l.opts.Directory, scope: scopeUser, text: []byte(text)})
	}
	if v := Getenv(l.getenv, "CONFIG_CONTENT"); v != "" {
		if err := user("CAIRN_CONFIG_CONTENT", v); err != nil {
			return err
		}
	}
	if v := Getenv(l.getenv, "PERMISSION"); v != "" {
		d := &document{name: "CAIRN_PERMISSION", dir: l.opts.Directory, scope: scopeUser, wrap: "permission", text: []byte(v)}
		if err := l.take(d); err != nil {
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
	if l.follows(d) {
		if err := l.substitute(d.root, ""); err != nil {
			return err
		}
	}
	if err := l.takeRules(d); err != nil {
		return err
	}
	c := checker{l, d}
	c.walk(d.root, reflect.TypeFor[Settings](), "", reachTrusted)
	if d.scope == scopeProject {
		l.projectInstructions(d)
	}
	if d.ofProject() && d.part == "" && !l.follows(d) {
		l.warnReferences(d.root, "")
	}
	if err := l.resolve(d); err != nil {
		return err
	}
	if err := l.decodes(d); err != nil {
		return err
	}
	low := l.config.root
	l.config.root = merge(low, d.root)
	l.policies(low, d)
	for _, key := range []string{"instructions", "plugin"} {
		if list := union(low.get(key), d.root.get(key)); list != nil && low != nil {
			l.config.root.set(key, list)
		}
	}
	return nil
}

// policies puts the statements of a document before those of lower layers: the last that matches decides, so that nobody
// lifts what a lower layer denies; but an administrator's come last (spec/v2 CT-6).
func (l *loader) policies(low *node, d *document) {
	was, is := low.get("experimental").get("policies"), d.root.get("experimental").get("policies")
	if was == nil || is == nil || was.kind != '[' || is.kind != '[' {
		return
	}
	first, last := is, was
	if d.managed {
		first, last = was, is
	}
	all := *is
	all.items = slices.Concat(first.items, last.items)
	l.config.root.get("experimental").set("policies", &all)
}

// follows reports whether {env:NAME} and {file:path} of the document are followed.
func (l *loader) follows(d *document) bool {
	ours := !d.ofProject() || d.remote != nil && d.scope == scopeTrusted
	return ours && d.part == "" && !l.literal
}

// decodes checks that the document's values are of the kinds that they should be. When all that is wrong is wanted, what
// is not is taken out.
func (l *loader) decodes(d *document) error {
	for {
		_, bad, err := decode(d.root)
		if err == nil {
			bad, err = d.unfit()
		}
		if err == nil {
			return nil
		}
		if err := l.wrong(err); err != nil || !d.root.drop(bad) {
			return err
		}
	}
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
		l.warn(n.place(), WarnUntrusted, "instructions", "names something outside of the project, which "+d.untrusted())
		return true
	})
}
