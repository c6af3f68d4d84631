package config

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/cairn-dev/cairn/internal/location/config/document"
)

//go:embed defaults.jsonc
var defaults []byte

// pluginDocument names what plugins add to a configuration.
const pluginDocument = "plugins"

// maxPluginText bounds it in bytes: plugins bring agents with long prompts.
const maxPluginText = 4 << 20

// Load reads and merges the configuration that o selects.
// The layers are added from the weakest to the strongest: defaults, organisations, files, variables, and what an
// administrator manages, which nothing overrides. With Options.All errors are kept in the Config.
func Load(ctx context.Context, o Options) (*Config, error) {
	l := &loader{
		opts:   o,
		dirs:   o.Dirs,
		getenv: o.Env,
		seen:   map[string]bool{},
		config: &Config{Dirs: o.Dirs, agentRules: map[string][]RuleList{}},
	}
	if l.getenv == nil {
		l.getenv = func(string) string { return "" }
	}
	// Built-in defaults, then the documents of organisations, files and variables.
	base := &document.Document{Name: "default", Layer: document.LayerDefault, Current: true, Text: defaults}
	if err := l.addDocument(base); err != nil {
		return nil, err
	}
	if err := l.addRemotes(ctx); err != nil {
		return nil, err
	}
	if err := l.addFiles(ctx); err != nil {
		return nil, err
	}
	if err := l.addVariables(); err != nil {
		return nil, err
	}
	l.findPluginFiles()
	if p := o.Plugins; p != nil && p.Text != nil {
		d := &document.Document{
			Name: pluginDocument, Dir: o.Directory, Layer: document.LayerTrusted, Text: p.Text, Limit: maxPluginText,
		}
		if err := l.addOrKeepError(d); err != nil {
			return nil, err
		}
	}
	// The administrator's files last. They are marked, because their values cannot be changed by others.
	managed, err := l.collectDocuments(ctx, l.managedSources())
	if err != nil {
		return nil, err
	}
	for _, d := range managed {
		d.Managed = true
		if err := l.addOrKeepError(d); err != nil {
			return nil, err
		}
	}
	// Decode the merged tree, then check what only the whole can show.
	if l.config.Settings, _, err = decode(l.config.root); err != nil {
		return nil, err
	}
	l.checkOptions()
	l.checkReferences()
	l.config.stamps = l.stamps
	return l.config, nil
}

// addFiles adds the documents of the user's and the project's files.
func (l *loader) addFiles(ctx context.Context) error {
	l.checkNamedDirectory()
	l.warnUnrun()
	docs, err := l.collectDocuments(ctx, l.listSources())
	if err != nil {
		return err
	}
	trusted := l.decideTrust(docs)
	for _, d := range docs {
		if trusted && d.Layer == document.LayerProject {
			d.Layer = document.LayerTrusted
		}
		if err := l.addOrKeepError(d); err != nil {
			return err
		}
	}
	return nil
}

// addVariables adds the configuration that environment variables hold.
// They belong to the user's layer and override the user's files.
func (l *loader) addVariables() error {
	add := func(name, text string, isOwn bool) error {
		return l.addOrKeepError(&document.Document{
			Name: name, Dir: l.opts.Directory, Layer: document.LayerUser, Current: isOwn, Text: []byte(text),
		})
	}
	// A complete document.
	if v := Getenv(l.getenv, "CONFIG_CONTENT"); v != "" {
		if err := add("CAIRN_CONFIG_CONTENT", v, false); err != nil {
			return err
		}
	}
	// Permission rules only, as the value of the key permission.
	if v := Getenv(l.getenv, "PERMISSION"); v != "" {
		d := &document.Document{
			Name:  "CAIRN_PERMISSION",
			Dir:   l.opts.Directory,
			Layer: document.LayerUser,
			Wrap:  "permission",
			Text:  []byte(v),
		}
		if err := l.addOrKeepError(d); err != nil {
			return err
		}
	}
	// Sharing: a variable does not enable what a file disables.
	for _, v := range []struct{ name, mode string }{{"AUTO_SHARE", "auto"}, {"DISABLE_SHARE", "disabled"}} {
		mode := l.config.root.Get("share")
		isDisabled := mode != nil && ShareMode(mode.Text) == ShareDisabled
		if IsSwitchOn(l.getenv, v.name) && !isDisabled {
			if err := add("CAIRN_"+v.name, fmt.Sprintf(`{"share":%q}`, v.mode), true); err != nil {
				return err
			}
		}
	}
	// Switches that stand for one setting each.
	for name, key := range map[string]string{"DISABLE_AUTOCOMPACT": "auto", "DISABLE_PRUNE": "prune"} {
		if IsSwitchOn(l.getenv, name) {
			if err := add("CAIRN_"+name, fmt.Sprintf(`{"compaction":{%q:false}}`, key), true); err != nil {
				return err
			}
		}
	}
	return nil
}
