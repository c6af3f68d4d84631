package config

import (
	"cmp"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/option"
)

// checkOptions reports request options and provider settings that have no effect, each once at its effective position.
// The catalog leaves them out of requests.
func (l *loader) checkOptions() {
	for _, p := range l.config.root.get("provider").allMembers() {
		l.providerOptions(p)
	}
	known, _, _ := fieldsOf(reflect.TypeFor[Agent]())
	for _, a := range l.config.root.get("agent").allMembers() {
		at, vendor := "agent."+a.key, l.vendorOf(
			cmp.Or(a.value.get("model").textValue(), l.config.root.get("model").textValue()),
		)
		for _, o := range a.value.allMembers() {
			if _, is := known[o.key]; !is || o.key == "temperature" || o.key == "top_p" {
				l.checkOption(o, at, vendor)
			}
		}
		for _, o := range a.value.get("options").allMembers() {
			l.checkOption(o, at+".options", vendor)
		}
		for _, o := range a.value.get("request").get("body").allMembers() {
			l.checkOption(o, at+".request.body", vendor)
		}
	}
}

// vendorOf returns the vendor that receives the options of a model, named provider/model.
func (l *loader) vendorOf(model string) option.Vendor {
	id, name, _ := strings.Cut(model, "/")
	p := l.config.root.get("provider").get(id)
	pkg := p.get("models").get(name).get("provider").get("npm").textValue()
	return option.VendorOf(id, cmp.Or(pkg, p.get("npm").textValue()))
}

func (l *loader) providerOptions(p member) {
	at, vendor := "provider."+p.key, option.VendorOf(p.key, p.value.get("npm").textValue())
	options := p.value.get("options")
	own := options.get("baseURL") != nil || p.value.get("api") != nil
	for _, o := range options.allMembers() {
		if why := option.Find(o.key).UnusedReason(vendor, own); why != "" && o.value.kind != 'n' {
			l.addWarning(o.value.position(), WarnUnused, at+".options."+o.key, "has no effect: "+why)
			continue
		}
		l.checkOption(o, at+".options", vendor)
	}
	for _, m := range p.value.get("models").allMembers() {
		at, vendor := at+".models."+m.key, vendor
		if pkg := m.value.get("provider").get("npm"); pkg != nil {
			vendor = option.VendorOf(p.key, pkg.text)
		}
		l.requestOptions(m.value.get("options"), at+".options", vendor)
		for _, v := range m.value.get("variants").allMembers() {
			l.requestOptions(v.value, at+".variants."+v.key, vendor)
		}
	}
}

// requestOptions reports options that are not sent and options that belong to the provider itself.
func (l *loader) requestOptions(n *node, at string, vendor option.Vendor) {
	for _, o := range n.allMembers() {
		known := option.Find(o.key)
		switch why := known.UnusedReason(vendor, false); {
		case o.value.kind == 'n':
		case known.Domain == option.Connection && !(o.key == "headers" && strings.Contains(at, ".variants.")):
			l.addWarning(
				o.value.position(),
				WarnUnused,
				at+"."+o.key,
				"has no effect here: it belongs to the options of the provider itself",
			)
		case known.Domain == option.Semantic && why != "":
			l.addWarning(o.value.position(), WarnUnused, at+"."+o.key, "has no effect: "+why)
		default:
			l.checkOption(o, at, vendor)
		}
	}
}

func (l *loader) checkOption(o member, at string, vendor option.Vendor) {
	known := option.Find(o.key)
	if known.Domain == option.Reserved && o.value.kind != 'n' {
		l.addWarning(o.value.position(), WarnUnsent, join(at, o.key), "is not sent: "+option.ReservedReason)
		return
	}
	inside, want := known.FindProblem(jsontext.Value(o.value.encode(nil, substituted)), vendor)
	if want == "" {
		return
	}
	key, n := join(at, o.key), o.value
	if inside != "" {
		key = join(key, inside)
		for _, name := range strings.Split(inside, ".") {
			n = n.childNamed(name)
		}
	}
	verb := "is not sent"
	if known.Domain == option.Connection || known.Domain == option.Setting {
		verb = "has no effect"
	}
	l.addWarning(n.position(), WarnUnsent, key, verb+": want "+want+", got "+n.formatExcerpt())
}

// checkReferences reports references that the context does not list.
func (l *loader) checkReferences() {
	for _, r := range l.config.root.get("references").allMembers() {
		key, why := "references."+r.key, ""
		switch {
		case r.value.kind != '{':
			why = "agents see a reference with a description only: write path and description"
		case r.value.get("path") == nil && r.value.get("repository") != nil:
			why = "cairn does not clone repositories: clone it, and write the path of the clone"
		case r.value.get("path") == nil:
			why = "it has no path"
		case r.value.get("description") == nil:
			why = "agents see a reference with a description only"
		default:
			continue
		}
		l.addWarning(r.value.position(), WarnUnused, key, "has no effect: "+why)
	}
}
