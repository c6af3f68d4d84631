package document

import (
	"time"

	"github.com/go-json-experiment/json"
)

// flattenProvider converts V2's form of a provider, {api: {package, url, settings}, request: {headers, body}}, and of
// its models to V1's.
func (d *Document) flattenProvider(p *Node) {
	if p.Kind != '{' {
		return
	}
	if api := p.Get("api"); api != nil && api.Kind == '{' {
		p.RemoveMember("api")
		d.setOption(p, "baseURL", api.Get("url"))
		if pkg := api.Get("package"); pkg != nil {
			p.Set("npm", pkg)
		}
		d.setOptions(p, api.Get("settings"))
	}
	if request := p.Get("request"); request != nil && request.Kind == '{' {
		p.RemoveMember("request")
		d.setOption(p, "headers", request.Get("headers"))
		d.setOptions(p, request.Get("body"))
	}
	if models := p.Get("models"); models != nil {
		for _, m := range models.Members {
			d.flattenModel(m.Value)
		}
	}
}

// flattenModel converts V2's form of a model to V1's.
func (d *Document) flattenModel(m *Node) {
	if m.Kind != '{' {
		return
	}
	if api := m.Get("api"); api != nil && api.Kind == '{' {
		m.RemoveMember("api")
		d.setDefault(m, "id", api.Get("id"))
		d.setDefaultIn(m, "provider", "npm", api.Get("package"))
		d.setDefaultIn(m, "provider", "api", api.Get("url"))
		d.setOptions(m, api.Get("settings"))
	}
	if request := m.Get("request"); request != nil && request.Kind == '{' {
		m.RemoveMember("request")
		d.setDefault(m, "headers", request.Get("headers"))
		d.setDefault(m, "variant", request.Get("variant"))
		d.setOptions(m, request.Get("body"))
	}
	if can := m.Get("capabilities"); can != nil && can.Kind == '{' {
		m.RemoveMember("capabilities")
		d.setDefault(m, "tool_call", can.Get("tools"))
		d.setDefaultIn(m, "modalities", "input", can.Get("input"))
		d.setDefaultIn(m, "modalities", "output", can.Get("output"))
	}
	d.convertReleaseDate(m)
	d.convertCost(m)
	d.convertVariants(m)
}

// convertReleaseDate converts {time: {released}}, in milliseconds, to a date.
func (d *Document) convertReleaseDate(m *Node) {
	at := m.Get("time").Get("released")
	var ms int64
	if at == nil || json.Unmarshal(at.Raw, &ms) != nil {
		return
	}
	m.RemoveMember("time")
	day := time.UnixMilli(ms).UTC().Format(time.DateOnly)
	d.setDefault(m, "release_date", &Node{Kind: '"', Raw: AppendQuoted(nil, day), Text: day, Doc: d, Offset: at.Offset})
}

// convertCost converts a list of rates, or one rate with {cache: {read, write}}, to a rate with tiers.
func (d *Document) convertCost(m *Node) {
	// Leave V1's form alone.
	cost := m.Get("cost")
	if cost == nil || cost.Kind == '{' && cost.Get("cache") == nil {
		return
	}
	rates := []*Node{cost}
	if cost.Kind == '[' {
		rates = cost.Items
	}
	// The first rate without a tier gives the base prices; the others become tiers.
	out := &Node{Kind: '{', Doc: d, Offset: cost.Offset}
	tiers := &Node{Kind: '[', Doc: d, Offset: cost.Offset}
	for _, r := range rates {
		if r.Kind != '{' {
			return // the check of values reports it
		}
		if cache := r.RemoveMember("cache"); cache != nil {
			d.setDefault(r, "cache_read", cache.Get("read"))
			d.setDefault(r, "cache_write", cache.Get("write"))
		}
		if r.Get("tier") != nil {
			tiers.Items = append(tiers.Items, r)
			continue
		}
		for _, member := range r.Members {
			d.setDefault(out, member.Key, member.Value)
		}
	}
	if len(tiers.Items) > 0 {
		out.Set("tiers", tiers)
	}
	m.Set("cost", out)
}

// convertVariants converts a list of {id, headers, body} to an object by id.
func (d *Document) convertVariants(m *Node) {
	list := m.Get("variants")
	if list == nil || list.Kind != '[' {
		return
	}
	out := &Node{Kind: '{', Doc: d, Offset: list.Offset}
	for _, item := range list.Items {
		id := item.Get("id")
		if item.Kind != '{' || id == nil || id.Kind != '"' {
			return // the check of values reports it
		}
		variant := &Node{Kind: '{', Doc: d, Offset: item.Offset}
		d.setDefault(variant, "headers", item.Get("headers"))
		if body := item.Get("body"); body != nil {
			variant.Members = append(variant.Members, body.Members...)
		}
		out.Set(id.Text, variant)
	}
	m.Set("variants", out)
}

// setDefault sets a key unless it is set.
func (d *Document) setDefault(n *Node, key string, v *Node) {
	if v != nil && n.Get(key) == nil {
		n.Set(key, v)
	}
}

// setDefaultIn sets a key of the object under name unless it is set.
func (d *Document) setDefaultIn(n *Node, name, key string, v *Node) {
	switch in := n.Get(name); {
	case v == nil:
	case in == nil:
		n.Set(name, d.wrapNode(v, key, v))
	case in.Kind == '{':
		d.setDefault(in, key, v)
	}
}

func (d *Document) setOption(n *Node, key string, v *Node) { d.setDefaultIn(n, "options", key, v) }

// setOptions sets the members of an object as options.
func (d *Document) setOptions(n, from *Node) {
	if from == nil {
		return
	}
	for _, m := range from.Members {
		d.setOption(n, m.Key, m.Value)
	}
}
