package document

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// OtherSpellings lists, per object, the spellings of V2 (and of older V1) beside the one of config.Settings.
var OtherSpellings = map[string]map[string]string{
	"": {
		"agents": "agent", "providers": "provider", "permissions": "permission", "commands": "command",
		"snapshots": "snapshot", "attachments": "attachment", "reference": "references", "plugins": "plugin",
	},
	"agent.*":    {"system": "prompt", "disabled": "disable", "permissions": "permission", "maxSteps": "steps"},
	"compaction": {"reserved": "buffer"},
}

// NormalizeSpellings converts every spelling of a document to that of config.Settings, in place.
func (d *Document) NormalizeSpellings() error {
	// Rename keys at the top first: the steps below look for the names of config.Settings.
	d.renameKeys(d.Root, "", "")
	if err := d.convertModes(); err != nil {
		return err
	}
	if v := d.Root.Get("instructions"); v != nil && v.Kind == '"' { // one file
		d.Root.Set("instructions", &Node{Kind: '[', Doc: d, Offset: v.Offset, Items: []*Node{v}})
	}
	// Agents include the converted modes.
	if agents := d.Root.Get("agent"); agents != nil && agents.Kind == '{' {
		for _, m := range agents.Members {
			d.renameKeys(m.Value, "agent.*", "agent."+m.Key)
		}
	}
	d.normalizeSandbox()
	// A number of recent tokens to preserve becomes the member tokens of keep.
	if c := d.Root.Get("compaction"); c != nil && c.Kind == '{' {
		d.renameKeys(c, "compaction", "compaction")
		if v := c.RemoveMember("preserve_recent_tokens"); v != nil && c.Get("keep") == nil {
			c.Set("keep", d.wrapNode(v, "tokens", v))
		}
	}
	// Autoshare true is the older form of share.
	if auto := d.Root.Get("autoshare"); auto != nil && auto.Kind == 't' {
		d.setDefault(d.Root, "share", d.NewText(auto, "auto"))
	}
	// Convert V2's shapes of MCP servers, skills and providers to V1's.
	d.liftMCPServers()
	d.splitSkills()
	if providers := d.Root.Get("provider"); providers != nil && providers.Kind == '{' {
		for _, m := range providers.Members {
			d.flattenProvider(m.Value)
		}
	}
	return nil
}

// normalizeSandbox converts the sandbox's short form, a mode, to a member mode.
func (d *Document) normalizeSandbox() {
	if s := d.Root.Get("sandbox"); s != nil && s.Kind == '"' {
		d.Root.Set("sandbox", d.wrapNode(s, "mode", s))
	}
}

func (d *Document) renameKeys(n *Node, table, path string) {
	if n.Kind != '{' {
		return
	}
	for _, m := range slices.Clone(n.Members) {
		to, ok := OtherSpellings[table][m.Key]
		if !ok {
			continue
		}
		if n.Get(to) != nil {
			n.RemoveMember(m.Key)
			d.Duplicates = append(d.Duplicates, Duplicate{m.Value, d.NewError(m.Offset, JoinKey(path, to),
				"is set too, by its other spelling %s, which does not count; keep one", m.Key)})
			continue
		}
		n.Members[n.index(m.Key)].Key = to
	}
}

// convertModes converts mode.<name>, the older form of an agent, to agent.<name> with mode primary.
func (d *Document) convertModes() error {
	modes := d.Root.RemoveMember("mode")
	if modes == nil {
		return nil
	}
	if modes.Kind != '{' {
		return d.NewError(modes.Offset, "mode", "want an object of agents by name, got %s", modes.DescribeKind())
	}
	// Put the modes beside the agents. A name in both would be ambiguous.
	agents := d.Root.Get("agent")
	if agents == nil || agents.Kind != '{' {
		agents = &Node{Kind: '{', Doc: d, Offset: modes.Offset}
		d.Root.Set("agent", agents)
	}
	for _, m := range modes.Members {
		if agents.Get(m.Key) != nil {
			return d.NewError(m.Offset, "mode."+m.Key, "is another spelling of agent.%s, which is set too; keep one", m.Key)
		}
		if m.Value.Kind == '{' && m.Value.Get("mode") == nil {
			primary := &Node{Kind: '"', Raw: jsontext.Value(`"primary"`), Text: "primary", Doc: d, Offset: m.Offset}
			m.Value.Set("mode", primary)
		}
		agents.Set(m.Key, m.Value)
	}
	return nil
}

// liftMCPServers moves the servers of V2's {servers: {…}} up to where V1 has them.
func (d *Document) liftMCPServers() {
	if m := d.Root.Get("mcp"); m != nil && m.Kind == '{' {
		if servers := m.Get("servers"); servers != nil && servers.Kind == '{' && servers.Get("type") == nil {
			m.RemoveMember("servers")
			for _, s := range servers.Members {
				m.Set(s.Key, s.Value)
			}
		}
	}
}

// splitSkills separates V2's one list into paths and URLs.
func (d *Document) splitSkills() {
	list := d.Root.Get("skills")
	if list == nil || list.Kind != '[' {
		return
	}
	paths, urls := &Node{Kind: '[', Doc: d, Offset: list.Offset}, &Node{Kind: '[', Doc: d, Offset: list.Offset}
	for _, item := range list.Items {
		if strings.Contains(item.Text, "://") {
			urls.Items = append(urls.Items, item)
		} else {
			paths.Items = append(paths.Items, item)
		}
	}
	d.Root.Set("skills", &Node{Kind: '{', Doc: d, Offset: list.Offset, Members: []Member{
		{"paths", list.Offset, paths}, {"urls", list.Offset, urls},
	}})
}
