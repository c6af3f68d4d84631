package config

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/location/config/document"
	"github.com/cairn-dev/cairn/internal/location/config/upgrade"
	"github.com/cairn-dev/cairn/internal/session"
)

// addOrKeepError adds a document; with Options.All an invalid document is skipped and its error kept. An invalid
// Markdown file is left out with a warning: it defines one agent or command and must not stop the others.
func (l *loader) addOrKeepError(d *document.Document) error {
	if d.Part == "" {
		return l.keepError(l.addDocument(d))
	}
	root, rules, agentRules := l.config.root, len(l.config.Permissions), maps.Clone(l.config.agentRules)
	all := l.opts.All
	l.opts.All = false // the first error is enough
	err := l.addDocument(d)
	l.opts.All = all
	e, invalid := errors.AsType[*document.Error](err)
	if !invalid {
		return err
	}
	l.config.root, l.config.agentRules = root, agentRules
	l.config.Permissions = l.config.Permissions[:rules]
	l.config.Warnings = append(l.config.Warnings, leftOutWarning(e))
	err = nil
	for _, disabling := range disableAgent(d) {
		err = l.addDocument(disabling)
	}
	return err
}

// disableAgent returns a document that removes an agent whose file is invalid: a built-in one of the name must not run
// without the rules of the file. The rules of an untrusted project only tighten, so its file removes no agent.
func disableAgent(d *document.Document) []*document.Document {
	if d.Entry == "" || d.Part == document.PartCommand || d.Layer == document.LayerProject {
		return nil
	}
	text := fmt.Appendf(nil, `{%q: {%s: {"disable": true}}}`, document.PartAgent, document.AppendQuoted(nil, d.Entry))
	return []*document.Document{{Name: d.Name, Dir: d.Dir, Layer: d.Layer, Current: true, Text: text}}
}

// addDocument parses and checks a document and merges it over the lower layers.
//
// The order matters: documents of earlier versions are upgraded first, spellings are normalized before keys are looked up, references are expanded before values are
// checked, and rules are moved to their lists before the rest is merged, because rules of layers are never merged.
func (l *loader) addDocument(d *document.Document) error {
	// Parse the document, in the one form that later steps know.
	if err := d.Parse(); err != nil {
		return err
	}
	version := d.Root.Get(document.VersionKey)
	notes, err := upgrade.Apply(d)
	if err != nil {
		return err
	}
	if version != nil && !d.Foreign {
		l.config.versions = append(l.config.versions, version)
	}
	for _, n := range notes {
		l.addWarning(n.At, WarnOlder, n.Key, n.Message)
	}
	if err := d.NormalizeSpellings(); err != nil {
		return err
	}
	l.newClaudeReader().convertFile(d)
	if err := l.leaveOutDuplicates(d); err != nil {
		return err
	}
	// Expand references to variables and files.
	if l.followsReferences(d) {
		if err := l.substituteReferences(d.Root, ""); err != nil {
			return err
		}
	}
	if l.followsProjectReferences(d) {
		projectReferences{l, d}.expandTexts(d.Root, "")
	}
	// Take the permission rules and the sandbox mode, then remove what the document may not set.
	if err := l.takeRules(d); err != nil {
		return err
	}
	l.tightenSandbox(d)
	c := checker{l, d}
	c.checkNode(d.Root, reflect.TypeFor[Settings](), "", document.LayerTrusted)
	if d.Layer == document.LayerProject {
		l.dropOutsideInstructions(d)
	}
	if l.followsProjectReferences(d) {
		projectReferences{l, d}.warnUnexpanded(d.Root, "")
	}
	// Check the values.
	if err := l.resolveShell(d); err != nil {
		return err
	}
	if err := l.dropUndecodable(d); err != nil {
		return err
	}
	if err := checkModelNames(l, d); err != nil {
		return err
	}
	// Merge the document over the lower layers; some lists are joined.
	low := l.config.root
	l.config.root = document.MergeNodes(low, d.Root)
	l.keepSharingDisabled(low)
	l.mergePolicies(low, d)
	l.mergeHooks(low, d)
	for _, key := range []string{"instructions", "plugin"} {
		if list := document.MergeLists(low.Get(key), d.Root.Get(key)); list != nil && low != nil {
			l.config.root.Set(key, list)
		}
	}
	return nil
}

// keepSharingDisabled keeps sharing disabled if a project's file of a lower layer disables it: no higher layer, such as
// CAIRN_CONFIG_CONTENT, enables it again.
func (l *loader) keepSharingDisabled(low *document.Node) {
	mode := low.Get("share")
	if mode != nil && mode.Doc.IsProject() && ShareMode(mode.Text) == ShareDisabled {
		l.config.root.Set("share", mode)
	}
}

// tightenSandbox applies the sandbox mode that a project's document demands for all sessions. It needs no trust,
// because the stricter of two modes applies and modes without confinement are ignored. Other members of the key need
// the user's file.
func (l *loader) tightenSandbox(d *document.Document) {
	s := d.Root.Get("sandbox")
	mode := session.SandboxMode(s.Get("mode").TextValue())
	if !d.IsProject() || mode.Check("") != nil || !mode.IsConfined() {
		return
	}
	l.config.ProjectSandbox = l.config.ProjectSandbox.ChooseStricter(mode)
	s.Members = slices.DeleteFunc(s.Members, func(m document.Member) bool { return m.Key == "mode" })
	if len(s.Members) == 0 {
		d.Root.Members = slices.DeleteFunc(d.Root.Members, func(m document.Member) bool { return m.Key == "sandbox" })
	}
}

// mergePolicies puts a document's policies before those of lower layers, because the last matching policy decides and a
// higher layer must not lift what a lower one denies. An administrator's policies come last (CT-6).
func (l *loader) mergePolicies(low *document.Node, d *document.Document) {
	was, is := low.Get("experimental").Get("policies"), d.Root.Get("experimental").Get("policies")
	if was == nil || is == nil || was.Kind != '[' || is.Kind != '[' {
		return
	}
	first, last := is, was
	if d.Managed {
		first, last = was, is
	}
	all := *is
	all.Items = slices.Concat(first.Items, last.Items)
	l.config.root.Get("experimental").Set("policies", &all)
}

// followsReferences reports whether {env:NAME} and {file:path} of the document are expanded.
func (l *loader) followsReferences(d *document.Document) bool {
	isUsers := !d.IsProject() || d.Remote != nil && d.Layer == document.LayerTrusted
	return isUsers && d.Part == "" && !l.literal
}

// followsProjectReferences reports whether references of the document to the project's own files are expanded. What plugins
// add has its final form.
func (l *loader) followsProjectReferences(d *document.Document) bool {
	return d.IsProject() && d.Part == "" && !l.followsReferences(d) && d.Name != pluginDocument
}

// dropUndecodable checks the types of the document's values and removes invalid ones that can be left out; with
// Options.All, all of them.
func (l *loader) dropUndecodable(d *document.Document) error {
	for {
		_, bad, err := decode(d.Root)
		if err == nil {
			bad, err = findInvalid(d)
		}
		if err == nil {
			return nil
		}
		if err := l.leaveOut(d, err, bad); err != nil {
			return err
		}
		if !removeValue(d, bad) {
			return nil
		}
	}
}

// takeRules moves the permission rules of the document and of its agents to their lists. Rules are not merged.
func (l *loader) takeRules(d *document.Document) error {
	list, err := l.takePermissions(d.Root, "")
	if err != nil {
		return err
	}
	if list != nil {
		l.config.Permissions = append(l.config.Permissions, *list)
	}
	agents := d.Root.Get("agent")
	if agents == nil {
		return nil
	}
	for _, m := range agents.Members {
		if m.Value.Kind != '{' {
			continue // decode reports it
		}
		list, err := l.takePermissions(m.Value, "agent."+m.Key)
		if err != nil {
			return err
		}
		if list != nil {
			l.config.agentRules[m.Key] = append(l.config.agentRules[m.Key], *list)
		}
	}
	return nil
}

// dropOutsideInstructions removes instructions that lead out of the project from a project's document.
func (l *loader) dropOutsideInstructions(d *document.Document) {
	list := d.Root.Get("instructions")
	if list == nil || list.Kind != '[' {
		return
	}
	list.Items = slices.DeleteFunc(list.Items, func(n *document.Node) bool {
		if n.Kind != '"' || filepath.IsLocal(n.Text) && n.Text[0] != '~' && !strings.Contains(n.Text, "://") {
			return false
		}
		l.addWarning(
			n.FindPosition(),
			WarnUntrusted,
			"instructions",
			"names a file outside of the project, which "+d.UntrustedReason(),
		)
		return true
	})
}
