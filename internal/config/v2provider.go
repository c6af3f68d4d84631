package config

import (
	"time"

	"github.com/go-json-experiment/json"
)

// flattenProvider converts V2's form of a provider, {api: {package, url, settings}, request: {headers, body}}, and of
// its models to V1's.
func (d *document) flattenProvider(p *node) {
	if p.kind != '{' {
		return
	}
	if api := p.get("api"); api != nil && api.kind == '{' {
		p.removeMember("api")
		d.setOption(p, "baseURL", api.get("url"))
		if pkg := api.get("package"); pkg != nil {
			p.set("npm", pkg)
		}
		d.setOptions(p, api.get("settings"))
	}
	if request := p.get("request"); request != nil && request.kind == '{' {
		p.removeMember("request")
		d.setOption(p, "headers", request.get("headers"))
		d.setOptions(p, request.get("body"))
	}
	if models := p.get("models"); models != nil {
		for _, m := range models.members {
			d.flattenModel(m.value)
		}
	}
}

// flattenModel converts V2's form of a model to V1's.
func (d *document) flattenModel(m *node) {
	if m.kind != '{' {
		return
	}
	if api := m.get("api"); api != nil && api.kind == '{' {
		m.removeMember("api")
		d.setDefault(m, "id", api.get("id"))
		d.setDefaultIn(m, "provider", "npm", api.get("package"))
		d.setDefaultIn(m, "provider", "api", api.get("url"))
		d.setOptions(m, api.get("settings"))
	}
	if request := m.get("request"); request != nil && request.kind == '{' {
		m.removeMember("request")
		d.setDefault(m, "headers", request.get("headers"))
		d.setDefault(m, "variant", request.get("variant"))
		d.setOptions(m, request.get("body"))
	}
	if can := m.get("capabilities"); can != nil && can.kind == '{' {
		m.removeMember("capabilities")
		d.setDefault(m, "tool_call", can.get("tools"))
		d.setDefaultIn(m, "modalities", "input", can.get("input"))
		d.setDefaultIn(m, "modalities", "output", can.get("output"))
	}
	d.convertReleaseDate(m)
	d.convertCost(m)
	d.convertVariants(m)
}

// convertReleaseDate converts {time: {released}}, in milliseconds, to a date.
func (d *document) convertReleaseDate(m *node) {
	at := m.get("time").get("released")
	var ms int64
	if at == nil || json.Unmarshal(at.raw, &ms) != nil {
		return
	}
	m.removeMember("time")
	day := time.UnixMilli(ms).UTC().Format(time.DateOnly)
	d.setDefault(m, "release_date", &node{kind: '"', raw: quote(nil, day), text: day, doc: d, offset: at.offset})
}

// convertCost converts a list of rates, or one rate with {cache: {read, write}}, to a rate with tiers.
func (d *document) convertCost(m *node) {
	cost := m.get("cost")
	if cost == nil || cost.kind == '{' && cost.get("cache") == nil {
		return
	}
	rates := []*node{cost}
	if cost.kind == '[' {
		rates = cost.items
	}
	out := &node{kind: '{', doc: d, offset: cost.offset}
	tiers := &node{kind: '[', doc: d, offset: cost.offset}
	for _, r := range rates {
		if r.kind != '{' {
			return // findInvalid reports it
		}
		if cache := r.removeMember("cache"); cache != nil {
			d.setDefault(r, "cache_read", cache.get("read"))
			d.setDefault(r, "cache_write", cache.get("write"))
		}
		if r.get("tier") != nil {
			tiers.items = append(tiers.items, r)
			continue
		}
		for _, member := range r.members {
			d.setDefault(out, member.key, member.value)
		}
	}
	if len(tiers.items) > 0 {
		out.set("tiers", tiers)
	}
	m.set("cost", out)
}

// convertVariants converts a list of {id, headers, body} to an object by id.
func (d *document) convertVariants(m *node) {
	list := m.get("variants")
	if list == nil || list.kind != '[' {
		return
	}
	out := &node{kind: '{', doc: d, offset: list.offset}
	for _, item := range list.items {
		id := item.get("id")
		if item.kind != '{' || id == nil || id.kind != '"' {
			return // findInvalid reports it
		}
		variant := &node{kind: '{', doc: d, offset: item.offset}
		d.setDefault(variant, "headers", item.get("headers"))
		if body := item.get("body"); body != nil {
			variant.members = append(variant.members, body.members...)
		}
		out.set(id.text, variant)
	}
	m.set("variants", out)
}

// setDefault sets a key unless it is set.
func (d *document) setDefault(n *node, key string, v *node) {
	if v != nil && n.get(key) == nil {
		n.set(key, v)
	}
}

// setDefaultIn sets a key of the object under name unless it is set.
func (d *document) setDefaultIn(n *node, name, key string, v *node) {
	switch in := n.get(name); {
	case v == nil:
	case in == nil:
		n.set(name, d.wrapNode(v, key, v))
	case in.kind == '{':
		d.setDefault(in, key, v)
	}
}

func (d *document) setOption(n *node, key string, v *node) { d.setDefaultIn(n, "options", key, v) }

// setOptions sets the members of an object as options.
func (d *document) setOptions(n, from *node) {
	if from == nil {
		return
	}
	for _, m := range from.members {
		d.setOption(n, m.key, m.value)
	}
}

// AllowsProvider reports whether the policies allow a provider. The last matching policy decides; without one the
// provider is allowed. match reports whether an id matches a pattern.
func (e Experimental) AllowsProvider(provider string, match func(pattern, id string) bool) bool {
	use := true
	for _, p := range e.Policies {
		if p.Action == "provider.use" && match(p.Resource, provider) {
			use = p.Effect != "deny"
		}
	}
	return use
}
