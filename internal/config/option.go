package config

import (
	"cmp"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/option"
)

// options names the options of requests, and the settings of providers, that have no effect: each once, where it stands
// that counts. The catalog leaves them out of requests.
func (l *loader) options() {
	for _, p := range l.config.root.get("provider").all() {
		l.providerOptions(p)
	}
	known, _, _ := fieldsOf(reflect.TypeFor[Agent]())
	for _, a := range l.config.root.get("agent").all() {
		at, vendor := "agent."+a.key, l.vendor(cmp.Or(a.value.get("model").words(), l.config.root.get("model").words()))
		for _, o := range a.value.all() {
			if _, is := known[o.key]; !is || o.key == "temperature" || o.key == "top_p" {
				l.option(o, at, vendor)
			}
		}
		for _, o := range a.value.get("options").all() {
			l.option(o, at+".options", vendor)
		}
		for _, o := range a.value.get("request").get("body").all() {
			l.option(o, at+".request.body", vendor)
		}
	}
}

// vendor is whom the options of a model, named provider/model, are for.
func (l *loader) vendor(model string) option.Vendor {
	id, name, _ := strings.Cut(model, "/")
	p := l.config.root.get("provider").get(id)
	pkg := p.get("models").get(name).get("provider").get("npm").words()
	return option.Of(id, cmp.Or(pkg, p.get("npm").words()))
}

func (l *loader) providerOptions(p member) {
	at, vendor := "provider."+p.key, option.Of(p.key, p.value.get("npm").words())
	options := p.value.get("options")
	own := options.get("baseURL") != nil || p.value.get("api") != nil
	for _, o := range options.all() {
		if why := option.Find(o.key).Unread(vendor, own); why != "" && o.value.kind != 'n' {
			l.warn(o.value.place(), WarnUnused, at+".options."+o.key, "has no effect: "+why)
			continue
		}
		l.option(o, at+".options", vendor)
	}
	for _, m := range p.value.get("models").all() {
		at, vendor := at+".models."+m.key, vendor
		if pkg := m.value.get("provider").get("npm"); pkg != nil {
			vendor = option.Of(p.key, pkg.text)
		}
		l.requestOptions(m.value.get("options"), at+".options", vendor)
		for _, v := range m.value.get("variants").all() {
			l.requestOptions(v.value, at+".variants."+v.key, vendor)
		}
	}
}

// requestOptions names those that are not sent, and what has its place among the options of a provider.
func (l *loader) requestOptions(n *node, at string, vendor option.Vendor) {
	for _, o := range n.all() {
		known := option.Find(o.key)
		switch why := known.Unread(vendor, false); {
		case o.value.kind == 'n':
		case known.Domain == option.Connection && !(o.key == "headers" && strings.Contains(at, ".variants.")):
			l.warn(o.value.place(), WarnUnused, at+"."+o.key, "has no effect here: it belongs to the options of the provider itself")
		case known.Domain == option.Semantic && why != "":
			l.warn(o.value.place(), WarnUnused, at+"."+o.key, "has no effect: "+why)
		default:
			l.option(o, at, vendor)
		}
	}
}

func (l *loader) option(o member, at string, vendor option.Vendor) {
	known := option.Find(o.key)
	if known.Domain == option.Reserved && o.value.kind != 'n' {
		l.warn(o.value.place(), WarnUnsent, join(at, o.key), "is not sent: "+option.Own)
		return
	}
	inside, want := known.Wrong(jsontext.Value(o.value.encode(nil, substituted)), vendor)
	if want == "" {
		return
	}
	key, n := join(at, o.key), o.value
	if inside != "" {
		key = join(key, inside)
		for _, name := range strings.Split(inside, ".") {
			n = n.child(name)
		}
	}
	verb := "is not sent"
	if known.Domain == option.Connection || known.Domain == option.Setting {
		verb = "has no effect"
	}
	l.warn(n.place(), WarnUnsent, key, verb+": want "+want+", got "+n.said())
}
