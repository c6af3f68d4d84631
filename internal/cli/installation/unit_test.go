package installation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// dropComments returns the text from its first section on.
func dropComments(text string) string {
	at := strings.Index(text, "[Unit]")
	return text[max(at, 0):]
}

// TestPackageUnit: the unit of the packages is the one that cairn service install writes.
func TestPackageUnit(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "packaging", "cairn.service"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(dropComments(formatUnit(settings{program: "/usr/bin/cairn"})), dropComments(string(b))); d != "" {
		t.Errorf("packaging/cairn.service differs (-unit.go +file):\n%s", d)
	}
}

// TestQuoting: paths with characters that systemd or XML read in their own way arrive as they are, and such a text adds
// no line.
func TestQuoting(t *testing.T) {
	getenv := map[string]string{"PATH": `/a b:/c"d:/e%f:/g\h`, "CAIRN_HOME": "/home/%u", "OPENAI_API_KEY": "sk-1"}
	s, err := newSettings(`/opt/a "b"/$x/cairn`, func(name string) string { return getenv[name] })
	if err != nil {
		t.Fatal(err)
	}
	unit := formatUnit(s)
	for _, want := range []string{
		"\nExecStart=\"/opt/a \\\"b\\\"/$$x/cairn\" serve\n",
		"\nEnvironment=\"PATH=/a b:/c\\\"d:/e%%f:/g\\\\h\"\n",
		"\nEnvironmentFile=-/home/%%u/config/environment\n",
	} {
		if !strings.Contains(unit, want) {
			t.Errorf("there is no %q in\n%s", want, unit)
		}
	}
	if strings.Contains(unit, "sk-1") {
		t.Errorf("a key is in the unit:\n%s", unit)
	}
	agent := formatAgent(settings{program: "/a&b<c", environment: []string{"PATH=/x>y"}})
	for _, want := range []string{"<string>/a&amp;b&lt;c</string>", "<key>PATH</key>\n    <string>/x&gt;y</string>"} {
		if !strings.Contains(agent, want) {
			t.Errorf("there is no %q in\n%s", want, agent)
		}
	}
	getenv["PATH"] = "/a\nExecStartPre=/bin/x"
	if _, err := newSettings("/cairn", func(name string) string { return getenv[name] }); err == nil {
		t.Error("a path with a line break was accepted")
	}
}
