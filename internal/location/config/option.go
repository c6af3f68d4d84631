package config

import (
	"cmp"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/option"
	"github.com/cairn-dev/cairn/internal/location/config/document"
)

// checkOptions reports request options and provider settings that have no effect, each once at its effective position.
// The catalog leaves them out of requests.
func (l *loader) checkOptions() {
	for _, p := range l.config.root.Get("provider").AllMembers() {
		l.checkProviderOptions(p)
	}
	known, _, _ := fieldsOf(reflect.TypeFor[Agent]())
	for _, a := range l.config.root.Get("agent").AllMembers() {
		at, vendor := "agent."+a.Key, l.vendorOf(
			cmp.Or(a.Value.Get("model").TextValue(), l.config.root.Get("model").TextValue()),
		)
		for _, o := range a.Value.AllMembers() {
			if _, is := known[o.Key]; !is || o.Key == "temperature" || o.Key == "top_p" {
				l.checkOption(o, at, vendor)
			}
		}
		for _, o := range a.Value.Get("options").AllMembers() {
			l.checkOption(o, at+".options", vendor)
		}
		for _, o := range a.Value.Get("request").Get("body").AllMembers() {
			l.checkOption(o, at+".request.body", vendor)
		}
	}
}

// vendorOf returns the vendor that receives the options of a model, named provider/model.
func (l *loader) vendorOf(model string) option.Vendor {
	id, name, _ := strings.Cut(model, "/")
	p := l.config.root.Get("provider").Get(id)
	pkg := p.Get("models").Get(name).Get("provider").Get("npm").TextValue()
	return option.VendorOf(id, cmp.Or(pkg, p.Get("npm").TextValue()))
}

func (l *loader) checkProviderOptions(p document.Member) {
	at, vendor := "provider."+p.Key, option.VendorOf(p.Key, p.Value.Get("npm").TextValue())
	options := p.Value.Get("options")
	own := options.Get("baseURL") != nil || p.Value.Get("api") != nil
	for _, o := range options.AllMembers() {
		if why := option.Find(o.Key).UnusedReason(vendor, own); why != "" && o.Value.Kind != 'n' {
			l.addWarning(o.Value.FindPosition(), WarnUnused, at+".options."+o.Key, "has no effect: "+why)
			continue
		}
		l.checkOption(o, at+".options", vendor)
	}
	for _, m := range p.Value.Get("models").AllMembers() {
		at, vendor := at+".models."+m.Key, vendor
		if pkg := m.Value.Get("provider").Get("npm"); pkg != nil {
			vendor = option.VendorOf(p.Key, pkg.Text)
		}
		l.checkRequestOptions(m.Value.Get("options"), at+".options", vendor)
		for _, v := range m.Value.Get("variants").AllMembers() {
			l.checkRequestOptions(v.Value, at+".variants."+v.Key, vendor)
		}
	}
}

// checkRequestOptions reports options that are not sent and options that belong to the provider itself.
func (l *loader) checkRequestOptions(n *document.Node, at string, vendor option.Vendor) {
	for _, o := range n.AllMembers() {
		known := option.Find(o.Key)
		switch why := known.UnusedReason(vendor, false); {
		case o.Value.Kind == 'n':
		case known.Domain == option.Connection && !(o.Key == "headers" && strings.Contains(at, ".variants.")):
			l.addWarning(
				o.Value.FindPosition(),
				WarnUnused,
				at+"."+o.Key,
				"has no effect here: it belongs to the options of the provider itself",
			)
		case known.Domain == option.Semantic && why != "":
			l.addWarning(o.Value.FindPosition(), WarnUnused, at+"."+o.Key, "has no effect: "+why)
		default:
			l.checkOption(o, at, vendor)
		}
	}
}

func (l *loader) checkOption(o document.Member, at string, vendor option.Vendor) {
	known := option.Find(o.Key)
	if known.Domain == option.Reserved && o.Value.Kind != 'n' {
		l.addWarning(o.Value.FindPosition(), WarnUnsent, document.JoinKey(at, o.Key), "is not sent: "+option.ReservedReason)
		return
	}
	inside, want := known.FindProblem(jsontext.Value(o.Value.AppendJSON(nil, document.Substituted)), vendor)
	if want == "" {
		return
	}
	key, n := document.JoinKey(at, o.Key), o.Value
	if inside != "" {
		key = document.JoinKey(key, inside)
		for _, name := range strings.Split(inside, ".") {
			n = n.FindChild(name)
		}
	}
	verb := "is not sent"
	if known.Domain == option.Connection || known.Domain == option.Setting {
		verb = "has no effect"
	}
	l.addWarning(n.FindPosition(), WarnUnsent, key, verb+": want "+want+", got "+n.FormatExcerpt())
}

// checkReferences reports references that the context does not list.
func (l *loader) checkReferences() {
	for _, r := range l.config.root.Get("references").AllMembers() {
		key, why := "references."+r.Key, ""
		switch {
		case r.Value.Kind != '{':
			why = "agents see a reference with a description only: write path and description"
		case r.Value.Get("path") == nil && r.Value.Get("repository") != nil:
			why = "cairn does not clone repositories: clone it, and write the path of the clone"
		case r.Value.Get("path") == nil:
			why = "it has no path"
		case r.Value.Get("description") == nil:
			why = "agents see a reference with a description only"
		default:
			continue
		}
		l.addWarning(r.Value.FindPosition(), WarnUnused, key, "has no effect: "+why)
	}
}
