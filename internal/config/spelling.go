package config

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// renamed lists, per object, the spellings of V2 (and of older V1) beside the one that Settings has.
var renamed = map[string]map[string]string{
	"": {
		"agents": "agent", "providers": "provider", "permissions": "permission", "commands": "command",
		"snapshots": "snapshot", "attachments": "attachment", "reference": "references", "plugins": "plugin",
	},
	"agent.*":    {"system": "prompt", "disabled": "disable", "permissions": "permission", "maxSteps": "steps"},
	"compaction": {"reserved": "buffer"},
}

// normalizeSpellings converts every spelling of a document to that of Settings, in place.
func (d *document) normalizeSpellings() error {
	if err := d.renameKeys(d.root, "", ""); err != nil {
		return err
	}
	if err := d.convertModes(); err != nil {
		return err
	}
	if agents := d.root.get("agent"); agents != nil && agents.kind == '{' {
		for _, m := range agents.members {
			if err := d.renameKeys(m.value, "agent.*", "agent."+m.key); err != nil {
				return err
			}
		}
	}
	d.normalizeSandbox()
	if c := d.root.get("compaction"); c != nil && c.kind == '{' {
		if err := d.renameKeys(c, "compaction", "compaction"); err != nil {
			return err
		}
		if v := c.removeMember("preserve_recent_tokens"); v != nil && c.get("keep") == nil {
			c.set("keep", d.wrapNode(v, "tokens", v))
		}
	}
	if auto := d.root.get("autoshare"); auto != nil && auto.kind == 't' {
		d.setDefault(
			d.root,
			"share",
			&node{kind: '"', raw: jsontext.Value(`"auto"`), text: "auto", doc: d, offset: auto.offset},
		)
	}
	d.liftMCPServers()
	d.splitSkills()
	if providers := d.root.get("provider"); providers != nil && providers.kind == '{' {
		for _, m := range providers.members {
			d.flattenProvider(m.value)
		}
	}
	return nil
}

// normalizeSandbox converts the sandbox's short form, a mode, and its older form, enabled, to a member mode.
func (d *document) normalizeSandbox() {
	s := d.root.get("sandbox")
	if s == nil {
		return
	}
	if s.kind == '"' {
		d.root.set("sandbox", d.wrapNode(s, "mode", s))
		return
	}
	enabled := s.get("enabled")
	if enabled == nil || s.get("mode") != nil || enabled.kind != 't' && enabled.kind != 'f' {
		return
	}
	mode := session.SandboxOff
	if enabled.kind == 't' {
		mode = session.SandboxStrict
	}
	s.set("mode", &node{
		kind: '"', raw: jsontext.Value(strconv.Quote(string(mode))), text: string(mode), doc: d, offset: enabled.offset,
	})
}

func (d *document) renameKeys(n *node, table, path string) error {
	if n.kind != '{' {
		return nil
	}
	for i, m := range n.members {
		to, ok := renamed[table][m.key]
		if !ok {
			continue
		}
		if n.get(to) != nil {
			return d.newError(m.offset, join(path, m.key), "is another spelling of %s, which is set too; keep one", to)
		}
		n.members[i].key = to
	}
	return nil
}

// convertModes converts mode.<name>, the older form of an agent, to agent.<name> with mode primary.
func (d *document) convertModes() error {
	modes := d.root.removeMember("mode")
	if modes == nil {
		return nil
	}
	if modes.kind != '{' {
		return d.newError(modes.offset, "mode", "want an object of agents by name, got %s", modes.kindName())
	}
	agents := d.root.get("agent")
	if agents == nil || agents.kind != '{' {
		agents = &node{kind: '{', doc: d, offset: modes.offset}
		d.root.set("agent", agents)
	}
	for _, m := range modes.members {
		if agents.get(m.key) != nil {
			return d.newError(m.offset, "mode."+m.key, "is another spelling of agent.%s, which is set too; keep one", m.key)
		}
		if m.value.kind == '{' && m.value.get("mode") == nil {
			primary := &node{kind: '"', raw: jsontext.Value(`"primary"`), text: "primary", doc: d, offset: m.offset}
			m.value.set("mode", primary)
		}
		agents.set(m.key, m.value)
	}
	return nil
}

// liftMCPServers moves the servers of V2's {servers: {…}} up to where V1 has them.
func (d *document) liftMCPServers() {
	if m := d.root.get("mcp"); m != nil && m.kind == '{' {
		if servers := m.get("servers"); servers != nil && servers.kind == '{' && servers.get("type") == nil {
			m.removeMember("servers")
			for _, s := range servers.members {
				m.set(s.key, s.value)
			}
		}
	}
}

// splitSkills separates V2's one list into paths and URLs.
func (d *document) splitSkills() {
	list := d.root.get("skills")
	if list == nil || list.kind != '[' {
		return
	}
	paths, urls := &node{kind: '[', doc: d, offset: list.offset}, &node{kind: '[', doc: d, offset: list.offset}
	for _, item := range list.items {
		if strings.Contains(item.text, "://") {
			urls.items = append(urls.items, item)
		} else {
			paths.items = append(paths.items, item)
		}
	}
	d.root.set("skills", &node{kind: '{', doc: d, offset: list.offset, members: []member{
		{"paths", list.offset, paths}, {"urls", list.offset, urls},
	}})
}

// wrapNode returns {key: v} with the position of at.
func (d *document) wrapNode(at *node, key string, v *node) *node {
	return &node{kind: '{', doc: d, offset: at.offset, members: []member{{key, at.offset, v}}}
}
