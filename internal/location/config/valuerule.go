package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/location/config/document"
)

// valueRule restricts the value at a path where the Go type accepts more: several JSON kinds, or one of a list of
// words.
type valueRule struct {
	path  string   // dotted; * is every member, or every item of a list
	kinds string   // of the values: " text, 0 number, t true and false, f false only, { object, [ list
	words []string // the only texts, if any
	whole bool     // numbers are whole and not negative
	price bool     // numbers are not negative
}

// valueRules are read by the loader and by the schema. Models are objects in the shape of models.dev, of which the
// catalog reads more than is looked at here.
var valueRules = []valueRule{
	{path: "logLevel", kinds: `"`, words: []string{"DEBUG", "INFO", "WARN", "ERROR"}},
	{path: "share", kinds: `"`, words: []string{"manual", "auto", "disabled"}},
	{path: "autoupdate", kinds: `t"`, words: []string{"notify"}},
	{path: "formatter", kinds: `t{`},
	{path: "formatter.*", kinds: `{`},
	{path: "lsp", kinds: `t{`},
	{path: "lsp.*", kinds: `{`},
	{path: "plugin.*", kinds: `"[`},
	{path: "references.*", kinds: `"{`},
	{path: "mcp.*.type", kinds: `"`, words: []string{"local", "remote"}},
	{path: "mcp.*.oauth", kinds: `f{`},
	{path: "notify.*", kinds: `{`},
	{path: "notify.*.on.*", kinds: `"`, words: []string{"ask", "end", "failure"}},
	{path: "experimental.policies.*.effect", kinds: `"`, words: []string{"allow", "deny"}},
	{path: "experimental.policies.*.action", kinds: `"`, words: []string{"provider.use"}},
	{path: "provider.*.models.*.family", kinds: `"`},
	{path: "provider.*.models.*.release_date", kinds: `"`},
	{path: "provider.*.models.*.attachment", kinds: `t`},
	{path: "provider.*.models.*.reasoning", kinds: `t`},
	{path: "provider.*.models.*.temperature", kinds: `t`},
	{path: "provider.*.models.*.tool_call", kinds: `t`},
	{path: "provider.*.models.*.interleaved", kinds: `t"{`},
	{path: "provider.*.models.*.cost", kinds: `{`},
	{path: "provider.*.models.*.cost.input", kinds: `0`, price: true},
	{path: "provider.*.models.*.cost.output", kinds: `0`, price: true},
	{path: "provider.*.models.*.cost.cache_read", kinds: `0`, price: true},
	{path: "provider.*.models.*.cost.cache_write", kinds: `0`, price: true},
	{path: "provider.*.models.*.cost.context_over_200k", kinds: `{`},
	{path: "provider.*.models.*.cost.context_over_200k.*", kinds: `0`, price: true},
	{path: "provider.*.models.*.cost.tiers", kinds: `[`},
	{path: "provider.*.models.*.cost.tiers.*", kinds: `{`},
	{path: "provider.*.models.*.cost.tiers.*.input", kinds: `0`, price: true},
	{path: "provider.*.models.*.cost.tiers.*.output", kinds: `0`, price: true},
	{path: "provider.*.models.*.cost.tiers.*.cache_read", kinds: `0`, price: true},
	{path: "provider.*.models.*.cost.tiers.*.cache_write", kinds: `0`, price: true},
	{path: "provider.*.models.*.cost.tiers.*.tier", kinds: `{`},
	{path: "provider.*.models.*.cost.tiers.*.tier.type", kinds: `"`},
	{path: "provider.*.models.*.cost.tiers.*.tier.size", kinds: `0`, whole: true},
	{path: "provider.*.models.*.limit", kinds: `{`},
	{path: "provider.*.models.*.limit.*", kinds: `0`, whole: true},
	{path: "provider.*.models.*.modalities", kinds: `{`},
	{path: "provider.*.models.*.modalities.*", kinds: `[`},
	{path: "provider.*.models.*.modalities.*.*", kinds: `"`, words: []string{"text", "audio", "image", "video", "pdf"}},
	{path: "provider.*.models.*.status", kinds: `"`, words: []string{"alpha", "beta", "deprecated", "active"}},
	{path: "provider.*.models.*.structured_output", kinds: `t`},
	{path: "provider.*.models.*.reasoning_options", kinds: `[`},
	{path: "provider.*.models.*.reasoning_options.*", kinds: `{`},
	{path: "provider.*.models.*.reasoning_options.*.type", kinds: `"`},
	{path: "provider.*.models.*.reasoning_options.*.values", kinds: `[`},
	{path: "provider.*.models.*.reasoning_options.*.max", kinds: `0`, whole: true},
	{path: "provider.*.models.*.provider", kinds: `{`},
	{path: "provider.*.models.*.provider.*", kinds: `"`},
	{path: "provider.*.models.*.variants", kinds: `{`},
	{path: "provider.*.models.*.variants.*", kinds: `{`},
	{path: "provider.*.models.*.variants.*.headers", kinds: `{`},
	{path: "provider.*.models.*.variants.*.headers.*", kinds: `"`},
	{path: "provider.*.models.*.variants.*.disabled", kinds: `t`},
	{path: "provider.*.models.*.variant", kinds: `"`},
}

// findInvalid returns the first value of the document that violates one of valueRules, with the error. Null is ignored.
func findInvalid(d *document.Document) (*document.Node, error) {
	for _, f := range valueRules {
		var bad *document.Node
		var key string
		visitPath(d.Root, strings.Split(f.path, "."), "", func(n *document.Node, at string) {
			if bad == nil && n.Kind != 'n' && !f.acceptsKind(n) {
				bad, key = n, at
			}
		})
		if bad != nil {
			return bad, d.NewError(bad.Offset, key, "want %s, got %s", f.describeAccepted(), bad.FormatExcerpt())
		}
	}
	return nil, nil
}

// visitPath calls visit for every value at the path below n.
func visitPath(n *document.Node, path []string, at string, visit func(n *document.Node, at string)) {
	if len(path) == 0 {
		visit(n, at)
		return
	}
	for _, m := range n.Members {
		if path[0] == "*" || path[0] == m.Key {
			visitPath(m.Value, path[1:], document.JoinKey(at, m.Key), visit)
		}
	}
	if path[0] == "*" {
		for _, item := range n.Items {
			visitPath(item, path[1:], at, visit)
		}
	}
}

func (f valueRule) acceptsKind(n *document.Node) bool {
	kind := n.Kind
	if kind == 'f' && !strings.ContainsRune(f.kinds, 'f') {
		kind = 't'
	}
	switch {
	case !strings.ContainsRune(f.kinds, rune(kind)):
		return false
	case kind == '"':
		return f.words == nil || slices.Contains(f.words, n.Text)
	case kind == '0' && f.whole:
		i, err := strconv.ParseInt(string(n.Raw), 10, 64)
		return err == nil && i >= 0
	case kind == '0' && f.price:
		return n.Raw[0] != '-'
	}
	return true
}

func (f valueRule) describeAccepted() string {
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
			all = append(all, "a string")
		case kind == '0' && f.whole:
			all = append(all, "a whole number, 0 or more")
		case kind == '0' && f.price:
			all = append(all, "a price, 0 or more")
		default:
			all = append(all, (&document.Node{Kind: jsontext.Kind(kind)}).DescribeKind())
		}
	}
	if last := len(all) - 1; last > 0 {
		return strings.Join(all[:last], ", ") + " or " + all[last]
	}
	return all[0]
}
