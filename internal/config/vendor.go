package config

import (
	"time"

	"github.com/go-json-experiment/json"
)

// provider flattens V2's form of a provider, {api: {package, url, settings}, request: {headers, body}}, into V1's, and
// those of its models (spec/v2 §19.2).
func (d *document) provider(p *node) {
	if p.kind != '{' {
		return
	}
	if api := p.get("api"); api != nil && api.kind == '{' {
		p.take("api")
		d.option(p, "baseURL", api.get("url"))
		if pkg := api.get("package"); pkg != nil {
			p.set("npm", pkg)
		}
		d.options(p, api.get("settings"))
	}
	if request := p.get("request"); request != nil && request.kind == '{' {
		p.take("request")
		d.option(p, "headers", request.get("headers"))
		d.options(p, request.get("body"))
	}
	if models := p.get("models"); models != nil {
		for _, m := range models.members {
			d.model(m.value)
		}
	}
}

// model flattens V2's form of a model.
func (d *document) model(m *node) {
	if m.kind != '{' {
		return
	}
	if api := m.get("api"); api != nil && api.kind == '{' {
		m.take("api")
		d.say(m, "id", api.get("id"))
		d.below(m, "provider", "npm", api.get("package"))
		d.below(m, "provider", "api", api.get("url"))
		d.options(m, api.get("settings"))
	}
	if request := m.get("request"); request != nil && request.kind == '{' {
		m.take("request")
		d.say(m, "headers", request.get("headers"))
		d.say(m, "variant", request.get("variant"))
		d.options(m, request.get("body"))
	}
	if can := m.get("capabilities"); can != nil && can.kind == '{' {
		m.take("capabilities")
		d.say(m, "tool_call", can.get("tools"))
		d.below(m, "modalities", "input", can.get("input"))
		d.below(m, "modalities", "output", can.get("output"))
	}
	d.released(m)
	d.cost(m)
	d.variants(m)
}

// released turns {time: {released}}, in milliseconds, into a date.
func (d *document) released(m *node) {
	at := m.get("time").get("released")
	var ms int64
	if at == nil || json.Unmarshal(at.raw, &ms) != nil {
		return
	}
	m.take("time")
	day := time.UnixMilli(ms).UTC().Format(time.DateOnly)
	d.say(m, "release_date", &node{kind: '"', raw: quote(nil, day), text: day, doc: d, offset: at.offset})
}

// cost turns a list of rates, or one with {cache: {read, write}}, into one with tiers.
func (d *document) cost(m *node) {
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
			return // unfit says what is wrong
		}
		if cache := r.take("cache"); cache != nil {
			d.say(r, "cache_read", cache.get("read"))
			d.say(r, "cache_write", cache.get("write"))
		}
		if r.get("tier") != nil {
			tiers.items = append(tiers.items, r)
			continue
		}
		for _, member := range r.members {
			d.say(out, member.key, member.value)
		}
	}
	if len(tiers.items) > 0 {
		out.set("tiers", tiers)
	}
	m.set("cost", out)
}

// variants turns a list of {id, headers, body} into an object by id.
func (d *document) variants(m *node) {
	list := m.get("variants")
	if list == nil || list.kind != '[' {
		return
	}
	out := &node{kind: '{', doc: d, offset: list.offset}
	for _, item := range list.items {
		id := item.get("id")
		if item.kind != '{' || id == nil || id.kind != '"' {
			return // unfit says what is wrong
		}
		variant := &node{kind: '{', doc: d, offset: item.offset}
		d.say(variant, "headers", item.get("headers"))
		if body := item.get("body"); body != nil {
			variant.members = append(variant.members, body.members...)
		}
		out.set(id.text, variant)
	}
	m.set("variants", out)
}

// say sets a key that is not there yet.
func (d *document) say(n *node, key string, v *node) {
	if v != nil && n.get(key) == nil {
		n.set(key, v)
	}
}

// below sets a key of the object under name that is not there yet.
func (d *document) below(n *node, name, key string, v *node) {
	switch in := n.get(name); {
	case v == nil:
	case in == nil:
		n.set(name, d.object(v, key, v))
	case in.kind == '{':
		d.say(in, key, v)
	}
}

func (d *document) option(n *node, key string, v *node) { d.below(n, "options", key, v) }

// options sets the members of an object as options.
func (d *document) options(n, from *node) {
	if from == nil {
		return
	}
	for _, m := range from.members {
		d.option(n, m.key, m.value)
	}
}

// Uses reports whether the policies of the configuration let a provider be used. Without one that matches they do; the
// last that matches decides. match tells whether an id fits a pattern.
func (e Experimental) Uses(provider string, match func(pattern, id string) bool) bool {
	use := true
	for _, p := range e.Policies {
		if p.Action == "provider.use" && match(p.Resource, provider) {
			use = p.Effect != "deny"
		}
	}
	return use
}
