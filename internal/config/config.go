// Package config reads the configuration of one location. It merges the defaults, the user's files, the project's files
// and environment variables, in this order, and remembers where each value was written.
//
// Contract:
//   - A value of the wrong type, invalid JSON or a repeated key is an *Error with file, line, column, key and the
//     expected value; nothing is loaded then. An unknown key is a Warning. An invalid Markdown file of one agent or
//     command is left out with a Warning, and an agent of that name is removed.
//   - Project files are untrusted input. Keys that could run a program, redirect a request, spend money or loosen a
//     rule have no effect until exactly that content is trusted. Permission rules of an untrusted project can only
//     tighten.
//     {env:NAME} and {file:path} in project files are never expanded.
//   - Errors, warnings and explanations contain no secrets, headers or values of variables.
//
// ChangeValue and MergeUser are the only functions that write files.
package config

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/trust"
)

const maxErrors = 100 // of one configuration

//go:embed defaults.jsonc
var defaults []byte

// Options select the configuration to load.
type Options struct {
	Directory string       // absolute path of the location; "" reads the user's configuration only
	Worktree  string       // root of its git worktree; "" outside of one
	Project   string       // project id, for trust
	Trust     *trust.Judge // decides whether the project's files are trusted; nil trusts nothing
	Remotes   []Remote     // configurations of organisations, lowest layer first
	All       bool         // collect errors in Config.Errors instead of returning the first one
	Dirs      Directories
	Env       func(string) string
}

// Config is a loaded configuration. It is immutable and safe for concurrent use.
type Config struct {
	Settings
	Permissions []RuleList // lowest layer first
	Warnings    []Warning
	Errors      []*Error     // with Options.All: all errors; the configuration must not be used if there are any
	Claim       *trust.Claim // the content of the project's files that needs trust
	Trusted     bool         // whether Claim is trusted
	// ProjectSandbox is the strictest sandbox that the project's files demand, which need no trust for it; "" if none.
	ProjectSandbox session.SandboxMode
	Remotes        []RemoteState
	Dirs           Directories

	agentRules map[string][]RuleList
	references []referenceValue
	root       *node
	stamps     []stamp
}

// AgentRules returns the permission rules of one agent, lowest layer first.
func (c *Config) AgentRules(agent string) []RuleList { return c.agentRules[agent] }

// RevealSecrets returns the values that must not leave the machine: those of settings with secret names, and those of
// {env:NAME} and {file:path} where they stand for a key, a header or a variable, but not for a setting such as a model.
func (c *Config) RevealSecrets(isSecret func(name string) bool) []string {
	secrets := collectSecrets("", c.root, isSecret)
	for _, r := range c.references {
		if isSecret(r.path) || strings.HasSuffix(strings.ToLower(r.path), "key") ||
			strings.Contains(r.path, "headers.") ||
			strings.Contains(r.path, "environment.") {
			secrets = append(secrets, r.value)
		}
	}
	return secrets
}

// collectSecrets returns the texts below n with secret names.
func collectSecrets(name string, n *node, isSecret func(name string) bool) (secrets []string) {
	if n == nil {
		return nil
	}
	if n.kind == '"' && isSecret(name) {
		secrets = append(secrets, n.text)
	}
	for _, m := range n.members {
		secrets = append(secrets, collectSecrets(m.key, m.value, isSecret)...)
	}
	for _, item := range n.items {
		secrets = append(secrets, collectSecrets(name, item, isSecret)...)
	}
	return secrets
}

// IsFresh reports whether all files that were read are unchanged and no file that was missing has appeared. It costs
// one stat per file.
func (c *Config) IsFresh() bool {
	return !slices.ContainsFunc(c.stamps, func(s stamp) bool { return !s.isUnchanged() })
}

// Load reads and merges the configuration that o selects.
func Load(ctx context.Context, o Options) (*Config, error) {
	l := &loader{
		opts:   o,
		dirs:   o.Dirs,
		getenv: o.Env,
		seen:   map[string]bool{},
		config: &Config{Dirs: o.Dirs, agentRules: map[string][]RuleList{}},
	}
	if l.getenv == nil {
		l.getenv = func(string) string { return "" }
	}
	if err := l.addDocument(&document{name: "default", scope: scopeDefault, text: defaults}); err != nil {
		return nil, err
	}
	if err := l.addRemotes(ctx); err != nil {
		return nil, err
	}
	if err := l.addFiles(ctx); err != nil {
		return nil, err
	}
	if err := l.addVariables(); err != nil {
		return nil, err
	}
	managed, err := l.collectDocuments(ctx, l.managedSources())
	if err != nil {
		return nil, err
	}
	for _, d := range managed {
		d.managed = true
		if err := l.addOrKeepError(d); err != nil {
			return nil, err
		}
	}
	if l.config.Settings, _, err = decode(l.config.root); err != nil {
		return nil, err
	}
	l.checkOptions()
	l.checkReferences()
	l.config.stamps = l.stamps
	return l.config, nil
}

// loader builds a Config, document by document.
type loader struct {
	opts     Options
	dirs     Directories
	getenv   func(string) string
	seen     map[string]bool // real paths of the files that were read
	stamps   []stamp
	own      map[string]bool // names of the user's own commands
	literal  bool            // do not expand {env:NAME} and {file:path}
	withheld []member        // members of project documents that need trust
	config   *Config
}

func (l *loader) addWarning(at Position, kind WarningKind, key, message string) {
	l.config.Warnings = append(l.config.Warnings, Warning{at, kind, key, message})
}

// keepError stores an *Error and returns nil if Options.All is set; otherwise it returns err.
func (l *loader) keepError(err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || !l.opts.All {
		return err
	}
	if len(l.config.Errors) < maxErrors {
		l.config.Errors = append(l.config.Errors, e)
	}
	return nil
}

// addFiles adds the documents of the user's and the project's files.
func (l *loader) addFiles(ctx context.Context) error {
	if err := l.keepError(l.checkNamedDirectory()); err != nil {
		return err
	}
	docs, err := l.collectDocuments(ctx, l.listSources())
	if err != nil {
		return err
	}
	trusted := l.decideTrust(docs)
	for _, d := range docs {
		if trusted && d.scope == scopeProject {
			d.scope = scopeTrusted
		}
		if err := l.addOrKeepError(d); err != nil {
			return err
		}
	}
	return nil
}

// collectDocuments reads the documents of sources. A file is read once, at its first position, so that the user's own
// configuration keeps its scope if its directory is also the project.
func (l *loader) collectDocuments(ctx context.Context, sources []source) ([]*document, error) {
	var docs []*document
	for _, s := range sources {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if s.part != "" && s.entry == "" {
			more, err := l.collectDocuments(ctx, l.listMarkdown(s))
			if err != nil {
				return nil, err
			}
			docs = append(docs, more...)
			continue
		}
		raw, err := l.readFile(s.path)
		if isMissing(err) && !s.required {
			continue
		}
		if err != nil && (s.isOptional(err) || s.entry != "" && !l.opts.All) {
			l.addWarning(Position{File: s.path}, WarnUnread, "", "is not read: "+pathlessError(err))
			docs = append(docs, disableAgent(&document{name: s.path, scope: s.scope, part: s.part, entry: s.entry})...)
			continue
		}
		if err != nil {
			problem := pathlessError(err)
			if s.required {
				problem += "; CAIRN_CONFIG names this file"
			}
			if err := l.keepError(&Error{Position{File: s.path}, "", problem}); err != nil {
				return nil, err
			}
			continue
		}
		if !l.isFirstRead(s.path) {
			continue
		}
		docs = append(
			docs,
			&document{name: s.path, dir: filepath.Dir(s.path), scope: s.scope, part: s.part, entry: s.entry, text: raw},
		)
	}
	return docs, nil
}

// isFirstRead reports whether the file was not read before under any name, and marks it as read.
func (l *loader) isFirstRead(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	was := l.seen[real]
	l.seen[real] = true
	return !was
}

// addOrKeepError adds a document; with Options.All an invalid document is skipped and its error kept. An invalid
// Markdown file is left out with a warning: it defines one agent or command and must not stop the others.
func (l *loader) addOrKeepError(d *document) error {
	if d.part == "" || l.opts.All {
		return l.keepError(l.addDocument(d))
	}
	root, rules, agentRules := l.config.root, len(l.config.Permissions), maps.Clone(l.config.agentRules)
	err := l.addDocument(d)
	e, invalid := errors.AsType[*Error](err)
	if !invalid {
		return err
	}
	w, _ := e.AsWarning()
	l.config.root, l.config.agentRules = root, agentRules
	l.config.Permissions = l.config.Permissions[:rules]
	l.config.Warnings = append(l.config.Warnings, w)
	err = nil
	for _, disabling := range disableAgent(d) {
		err = l.addDocument(disabling)
	}
	return err
}

// disableAgent returns a document that removes an agent whose file is invalid: a built-in one of the name must not run
// without the rules of the file. The rules of an untrusted project only tighten, so its file removes no agent.
func disableAgent(d *document) []*document {
	if d.entry == "" || d.part == partCommand || d.scope == scopeProject {
		return nil
	}
	text := fmt.Appendf(nil, `{%q: {%s: {"disable": true}}}`, partAgent, quote(nil, d.entry))
	return []*document{{name: d.name, dir: d.dir, scope: d.scope, text: text}}
}

// addVariables adds the configuration that environment variables hold.
func (l *loader) addVariables() error {
	user := func(name, text string) error {
		return l.addOrKeepError(&document{name: name, dir: l.opts.Directory, scope: scopeUser, text: []byte(text)})
	}
	if v := Getenv(l.getenv, "CONFIG_CONTENT"); v != "" {
		if err := user("CAIRN_CONFIG_CONTENT", v); err != nil {
			return err
		}
	}
	if v := Getenv(l.getenv, "PERMISSION"); v != "" {
		d := &document{
			name:  "CAIRN_PERMISSION",
			dir:   l.opts.Directory,
			scope: scopeUser,
			wrap:  "permission",
			text:  []byte(v),
		}
		if err := l.addOrKeepError(d); err != nil {
			return err
		}
	}
	for name, key := range map[string]string{"DISABLE_AUTOCOMPACT": "auto", "DISABLE_PRUNE": "prune"} {
		if IsSwitchOn(l.getenv, name) {
			if err := user("CAIRN_"+name, fmt.Sprintf(`{"compaction":{%q:false}}`, key)); err != nil {
				return err
			}
		}
	}
	return nil
}

// addDocument parses and checks a document and merges it over the lower layers.
func (l *loader) addDocument(d *document) error {
	if err := d.parse(); err != nil {
		return err
	}
	if err := d.normalizeSpellings(); err != nil {
		return err
	}
	if l.followsReferences(d) {
		if err := l.substituteReferences(d.root, ""); err != nil {
			return err
		}
	}
	if err := l.takeRules(d); err != nil {
		return err
	}
	l.tightenSandbox(d)
	c := checker{l, d}
	c.checkNode(d.root, reflect.TypeFor[Settings](), "", reachTrusted)
	if d.scope == scopeProject {
		l.projectInstructions(d)
	}
	if d.isProject() && d.part == "" && !l.followsReferences(d) {
		l.warnReferences(d.root, "")
	}
	if err := l.resolveShell(d); err != nil {
		return err
	}
	if err := l.dropUndecodable(d); err != nil {
		return err
	}
	low := l.config.root
	l.config.root = mergeNodes(low, d.root)
	l.mergePolicies(low, d)
	for _, key := range []string{"instructions", "plugin"} {
		if list := mergeLists(low.get(key), d.root.get(key)); list != nil && low != nil {
			l.config.root.set(key, list)
		}
	}
	return nil
}

// tightenSandbox applies the sandbox mode that a project's document demands for all sessions. It needs no trust,
// because the stricter of two modes applies and modes without confinement are ignored. Other members of the key need
// the user's file.
func (l *loader) tightenSandbox(d *document) {
	s := d.root.get("sandbox")
	mode := session.SandboxMode(s.get("mode").textValue())
	if !d.isProject() || mode.Check("") != nil || !mode.IsConfined() {
		return
	}
	l.config.ProjectSandbox = l.config.ProjectSandbox.ChooseStricter(mode)
	s.members = slices.DeleteFunc(s.members, func(m member) bool { return m.key == "mode" })
	if len(s.members) == 0 {
		d.root.members = slices.DeleteFunc(d.root.members, func(m member) bool { return m.key == "sandbox" })
	}
}

// mergePolicies puts a document's policies before those of lower layers, because the last matching policy decides and a
// higher layer must not lift what a lower one denies. An administrator's policies come last (CT-6).
func (l *loader) mergePolicies(low *node, d *document) {
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

// followsReferences reports whether {env:NAME} and {file:path} of the document are expanded.
func (l *loader) followsReferences(d *document) bool {
	ours := !d.isProject() || d.remote != nil && d.scope == scopeTrusted
	return ours && d.part == "" && !l.literal
}

// dropUndecodable checks the types of the document's values. With Options.All, invalid values are reported and removed.
func (l *loader) dropUndecodable(d *document) error {
	for {
		_, bad, err := decode(d.root)
		if err == nil {
			bad, err = d.findInvalid()
		}
		if err == nil {
			return nil
		}
		if err := l.keepError(err); err != nil || !d.root.removeNode(bad) {
			return err
		}
	}
}

// takeRules moves the permission rules of the document and of its agents to their lists. Rules are not merged.
func (l *loader) takeRules(d *document) error {
	list, err := l.takePermissions(d.root, "")
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
			continue // decode reports it
		}
		list, err := l.takePermissions(m.value, "agent."+m.key)
		if err != nil {
			return err
		}
		if list != nil {
			l.config.agentRules[m.key] = append(l.config.agentRules[m.key], *list)
		}
	}
	return nil
}

// projectInstructions removes instructions that lead out of the project from a project's document.
func (l *loader) projectInstructions(d *document) {
	list := d.root.get("instructions")
	if list == nil || list.kind != '[' {
		return
	}
	list.items = slices.DeleteFunc(list.items, func(n *node) bool {
		if n.kind != '"' || filepath.IsLocal(n.text) && n.text[0] != '~' && !strings.Contains(n.text, "://") {
			return false
		}
		l.addWarning(
			n.position(),
			WarnUntrusted,
			"instructions",
			"names a file outside of the project, which "+d.untrustedReason(),
		)
		return true
	})
}
