package config

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every plugin has an id of its own, and a project's takes none of the user's nor the right that it has.
func TestPluginIDs(t *testing.T) {
	for name, c := range map[string]struct {
		user, project string // the lists of the key plugin
		folder        string // of the user's configuration, with a script guard.ts; "" for none
		want          []string
	}{
		"the later of two packages": {
			user: `"guard@1.0.0", "other", ["guard@2.0.0", {}]`, want: []string{"plugin/other other user", "plugin/guard guard@2.0.0 user allowed"},
		},
		"a script with the name of a package": {
			user: `"guard", "./guard.ts"`,
			want: []string{"plugin/guard guard user allowed", "plugin/guard-2 home/.config/cairn/guard.ts user"},
		},
		"scripts with one name": {
			user: `"./a/guard.ts", "./b/guard.ts"`, folder: "plugin",
			want: []string{
				"plugin/guard home/.config/cairn/a/guard.ts user allowed", "plugin/guard-2 home/.config/cairn/b/guard.ts user",
				"plugin/guard-3 home/.config/cairn/plugin/guard.ts user",
			},
		},
		"a project's script with the name of the user's package": {
			user: `"guard"`, project: `"./guard.ts"`,
			want: []string{"plugin/guard guard user allowed", "plugin/guard-2 repo/guard.ts project"},
		},
		"a project's script with the name of the user's": {
			project: `"./guard.ts"`, folder: "plugins",
			want: []string{"plugin/guard-2 repo/guard.ts project", "plugin/guard home/.config/cairn/plugins/guard.ts user allowed"},
		},
		"a project's alone": {project: `"./guard.ts"`, want: []string{"plugin/guard repo/guard.ts project"}},
		"a project's outside of it": {
			project: `"../guard.ts", "./", "~/other.ts"`,
			want:    []string{"plugin/guard guard.ts project outside", "plugin/repo repo project", "plugin/other home/other.ts project outside"},
		},
		"the user's package, named by a project": {
			user: `"guard"`, project: `["guard", {"off": true}]`, want: []string{"plugin/guard guard project"},
		},
	} {
		p := newPlace(t, map[string]string{
			"home/.config/cairn/cairn.json": `{"plugin": [` + c.user + `], "extensions": {"allow": ["plugin/guard"]}}`,
			"repo/opencode.json":            `{"plugin": [` + c.project + `]}`, "repo/guard.ts": "1",
		})
		if c.folder != "" {
			p.write("home/.config/cairn/"+c.folder+"/guard.ts", "1")
		}
		p.word = p.mustLoad().Claim.Hash()
		loaded := p.mustLoad()
		var got []string
		for _, one := range loaded.ListPlugins() {
			text := fmt.Sprint(one.ID, " ", one.Name+p.short(one.File), " ")
			if one.Project {
				text += "project"
			} else {
				text += "user"
			}
			if one.Outside {
				text += " outside"
			}
			if one.MayAllow(loaded.Extensions.Allow) {
				text += " allowed"
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A file URL is decoded, and a name that is none of a plugin is a warning.
func TestPluginURLs(t *testing.T) {
	p := newPlace(t, map[string]string{"home/My Plugins/a.ts": "1", "home/b.ts": "1"})
	p.write("home/.config/cairn/cairn.json", `{"plugin": [
		"file://`+p.root+`/home/My%20Plugins/a.ts", ["file://localhost`+p.root+`/home/b.ts", {}],
		"file:///%zz", "Not A Package"]}`)
	c := p.mustLoad()
	var got []string
	for _, one := range c.ListPlugins() {
		got = append(got, one.ID+" "+p.short(one.File))
	}
	for _, w := range c.Warnings {
		got = append(got, fmt.Sprint(w.Line, " ", w.Message))
	}
	want := []string{
		"plugin/a home/My Plugins/a.ts", "plugin/b home/b.ts",
		`3 "file:///%zz" is not the name of an npm package, a path or a file URL, so it is ignored`,
		`3 "Not A Package" is not the name of an npm package, a path or a file URL, so it is ignored`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A name is that of a package by npm's rules, and never a path or an option.
func TestPackageNames(t *testing.T) {
	for text, want := range map[string]bool{
		"one": true, "one@1.2.3": true, "one@^1": true, "one@latest": true, "@scope/one": true, "@scope/one@2": true,
		"one.js": true, "a_b-c": true, "~x": true, "1x": true,
		"": false, ".": false, "..": false, ".x": false, "_x": false, "-x": false, "--x": false, "@scope": false,
		"@scope/": false, "@scope/.": false, "@scope/..": false, "@scope/-x": false, "@../x": false, "@/x": false,
		"node_modules": false, "node_modules@1": false, "a/b": false, "Upper": false, "one@": false, "one@1;x": false,
	} {
		if got := IsPackageName(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// A change of a script or a directory that the user's configuration names is noticed.
func TestNamedPluginsAreStamped(t *testing.T) {
	for _, name := range []string{"guard.ts", "dir/src/index.ts", "dir/src/new.ts", "missing.ts"} {
		p := newPlace(t, map[string]string{
			"home/.config/cairn/cairn.json": `{"plugin": ["./guard.ts", ["./dir", {}], "./missing.ts", "package"]}`,
			"home/.config/cairn/guard.ts":   "1", "home/.config/cairn/dir/package.json": "{}",
			"home/.config/cairn/dir/src/index.ts": "1", "home/.config/cairn/dir/node_modules/zod/index.js": "1",
		})
		c := p.mustLoad()
		p.write("home/.config/cairn/dir/node_modules/zod/index.js", "changed")
		if !c.IsFresh() {
			t.Error("a change in node_modules is noticed")
		}
		p.write("home/.config/cairn/"+name, "changed")
		if c.IsFresh() {
			t.Errorf("a change of %s is not noticed", name)
		}
	}
}
