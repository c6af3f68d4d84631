package config

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/location/config/document"
)

// strictKey matches the keys whose invalid values stop the configuration: without such a value, something would be
// allowed, sent or spent that it may forbid.
var strictKey = regexp.MustCompile(`^(version|permissions?|tools|sandbox|budget|enabled_providers|disabled_providers|` +
	`experimental\.policies|(agents?|mode)\..+\.(permissions?|tools|sandbox|disabled?)|` +
	`providers?\..+\.(disabled|whitelist|blacklist|env|api|npm|baseURL|apiKey))($|[.\[])`)

// strictNames are the members of the same kind that a value which is left out must not hold.
var strictNames = []string{
	"permission", "permissions", "tools", "sandbox", "budget", "policies", "disable", "disabled", "whitelist", "blacklist",
	"baseURL", "apiKey", "enabled_providers", "disabled_providers",
}

// leaveOut returns nil if the document is read without the invalid value bad, which err names, and adds a warning.
// Otherwise err is kept or returned. An edit, and an administrator's document, leave nothing out.
func (l *loader) leaveOut(d *document.Document, err error, bad *document.Node) error {
	replaced := slices.ContainsFunc(d.Duplicates, func(r document.Duplicate) bool { return r.Node == bad })
	e, ok := errors.AsType[*document.Error](err)
	if !ok || l.literal || d.Managed || e.Key == "" || strictKey.MatchString(e.Key) || holdsStrict(bad) {
		return l.keepError(err)
	}
	w := leftOutWarning(e)
	if replaced {
		w.Message = e.Message
	}
	l.config.Warnings = append(l.config.Warnings, w)
	return nil
}

// leaveOutDuplicates reports the values of the document that another value of the same key replaced.
func (l *loader) leaveOutDuplicates(d *document.Document) error {
	for _, r := range d.Duplicates {
		if err := l.leaveOut(d, r.Err, r.Node); err != nil {
			return err
		}
	}
	return nil
}

// checkModelNames reports names of models without a provider. They are read, because what needs the model says more.
func checkModelNames(l *loader, d *document.Document) error {
	for _, path := range []string{"model", "small_model", "agent.*.model", "command.*.model"} {
		var bare *document.Node
		var key string
		visitPath(d.Root, strings.Split(path, "."), "", func(n *document.Node, at string) {
			if n.Kind == '"' && ModelName(n.Text).Ref() == nil && !isInherited(n.Text) {
				bare, key = n, at
			}
		})
		switch {
		case bare == nil:
		case l.literal:
			return d.NewError(bare.Offset, key, "want %s, got %s", wantModel, bare.FormatExcerpt())
		case strings.Contains(path, "*"):
			l.addWarning(bare.FindPosition(), WarnIgnored, key,
				"names no provider: the newest usable model of that name is used, or without one that of the session")
		default:
			l.addWarning(bare.FindPosition(), WarnUnknown, key, "names no provider: want "+wantModel)
		}
	}
	return nil
}

// removeValue removes an invalid value from the document and reports whether it was found. A name takes the place of an
// invalid model: sessions must not use another model than the one that is meant.
func removeValue(d *document.Document, bad *document.Node) bool {
	if bad != d.Root.Get("model") {
		return d.Root.RemoveNode(bad)
	}
	text := bad.FormatExcerpt()
	*bad = document.Node{Kind: '"', Raw: document.AppendQuoted(nil, text), Text: text, Doc: d, Offset: bad.Offset}
	return true
}

// holdsStrict reports whether a member below n is one of strictNames.
func holdsStrict(n *document.Node) bool {
	return slices.ContainsFunc(n.Members, func(m document.Member) bool {
		return slices.Contains(strictNames, m.Key) || holdsStrict(m.Value)
	}) || slices.ContainsFunc(n.Items, holdsStrict)
}
