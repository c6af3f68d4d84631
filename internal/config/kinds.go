package config

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// fit says what may stand at a path where the Go type takes more: values of several kinds, and words of a list.
type fit struct {
	path  string   // dotted; * is every member, or every item of a list
	kinds string   // of the values: " text, 0 number, t true and false, f false only, { object, [ list
	words []string // the only texts, if any
}

// fits are read by the loader and by the schema. Models are objects in the shape of models.dev, of which the catalog
// reads more than is looked at here.
var fits = []fit{
	{"logLevel", `"`, []string{"DEBUG", "INFO", "WARN", "ERROR"}},
	{"share", `"`, []string{"manual", "auto", "disabled"}},
	{"autoupdate", `t"`, []string{"notify"}},
	{"formatter", `t{`, nil},
	{"formatter.*", `{`, nil},
	{"lsp", `t{`, nil},
	{"lsp.*", `{`, nil},
	{"plugin.*", `"[`, nil},
	{"references.*", `"{`, nil},
	{"mcp.*.type", `"`, []string{"local", "remote"}},
	{"mcp.*.oauth", `f{`, nil},
	{"experimental.policies.*.effect", `"`, []string{"allow", "deny"}},
	{"experimental.policies.*.action", `"`, []string{"provider.use"}},
	{"provider.*.models.*.family", `"`, nil},
	{"provider.*.models.*.release_date", `"`, nil},
	{"provider.*.models.*.attachment", `t`, nil},
	{"provider.*.models.*.reasoning", `t`, nil},
	{"provider.*.models.*.temperature", `t`, nil},
	{"provider.*.models.*.tool_call", `t`, nil},
	{"provider.*.models.*.interleaved", `t"{`, nil},
	{"provider.*.models.*.cost", `{`, nil},
	{"provider.*.models.*.cost.input", `0`, nil},
	{"provider.*.models.*.cost.output", `0`, nil},
	{"provider.*.models.*.cost.cache_read", `0`, nil},
	{"provider.*.models.*.cost.cache_write", `0`, nil},
	{"provider.*.models.*.cost.context_over_200k", `{`, nil},
	{"provider.*.models.*.limit", `{`, nil},
	{"provider.*.models.*.limit.*", `0`, nil},
	{"provider.*.models.*.modalities", `{`, nil},
	{"provider.*.models.*.modalities.*", `[`, nil},
	{"provider.*.models.*.modalities.*.*", `"`, []string{"text", "audio", "image", "video", "pdf"}},
	{"provider.*.models.*.status", `"`, []string{"alpha", "beta", "deprecated", "active"}},
	{"provider.*.models.*.provider", `{`, nil},
	{"provider.*.models.*.provider.*", `"`, nil},
	{"provider.*.models.*.variants", `{`, nil},
	{"provider.*.models.*.variants.*", `{`, nil},
}

// unfit finds the first value of the document that is not what it should be, and words why. Null is no value.
func (d *document) unfit() (*node, error) {
	for _, f := range fits {
		var bad *node
		var key string
		each(d.root, strings.Split(f.path, "."), "", func(n *node, at string) {
			if bad == nil && n.kind != 'n' && !f.takes(n) {
				bad, key = n, at
			}
		})
		if bad != nil {
			return bad, d.errorf(bad.offset, key, "want %s, got %s", f.want(), bad.said())
		}
	}
	return nil, nil
}

// each calls visit for every value at the path below n.
func each(n *node, path []string, at string, visit func(n *node, at string)) {
	if len(path) == 0 {
		visit(n, at)
		return
	}
	for _, m := range n.members {
		if path[0] == "*" || path[0] == m.key {
			each(m.value, path[1:], join(at, m.key), visit)
		}
	}
	if path[0] == "*" {
		for _, item := range n.items {
			each(item, path[1:], at, visit)
		}
	}
}

func (f fit) takes(n *node) bool {
	kind := n.kind
	if kind == 'f' && !strings.ContainsRune(f.kinds, 'f') {
		kind = 't'
	}
	return strings.ContainsRune(f.kinds, rune(kind)) && (kind != '"' || f.words == nil || slices.Contains(f.words, n.text))
}

func (f fit) want() string {
	var all []string
	for _, kind := range f.kinds {
		switch {
		case kind == '"' && f.words != nil:
			for _, word := range f.words {
				all = append(all, `"`+word+`"`)
			}
		case kind == 'f':
			all = append(all, "false")
		case kind == '"':
			all = append(all, "text in quotes")
		default:
			all = append(all, (&node{kind: jsontext.Kind(kind)}).kindName())
		}
	}
	if last := len(all) - 1; last > 0 {
		return strings.Join(all[:last], ", ") + " or " + all[last]
	}
	return all[0]
}

// schema is what the fit adds to the schema of its value.
func (f fit) schema() schema {
	var any []schema
	for _, kind := range f.kinds {
		switch kind {
		case '"':
			text := schema{"type": "string"}
			if f.words != nil {
				text = schema{"enum": f.words}
			}
			any = append(any, text)
		case 't':
			any = append(any, schema{"type": "boolean"})
		case 'f':
			any = append(any, schema{"const": false})
		case '{':
			any = append(any, schema{"type": "object"})
		case '[':
			any = append(any, schema{"type": "array"})
		case '0':
			any = append(any, schema{"type": "number"})
		}
	}
	if len(any) == 1 {
		return any[0]
	}
	return schema{"anyOf": any}
}
