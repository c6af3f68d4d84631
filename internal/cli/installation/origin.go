package installation

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/statefile"
)

const (
	modulePath = "github.com/cairn-dev/cairn"
	homepage   = "https://" + modulePath
	npmPackage = "@cairn-dev/cairn"
)

// origin says how a program came to this machine, and how a newer one does.
type origin struct {
	Kind    string `json:"installedBy"`
	Program string `json:"program"`
	Version string `json:"version"`
	// Command upgrades it, as a person types it. It may need a file first, which Note names.
	Command string `json:"command,omitzero"`
	Note    string `json:"note,omitzero"`

	prefix string // of install.sh
	marked string // the version that install.sh installed last
	url    string // that install.sh was given; "" is a release on GitHub
}

// The kinds of origins.
const (
	kindScript    = "install.sh"
	kindContainer = "container"
	kindHomebrew  = "homebrew"
	kindNPM       = "npm"
	kindDeb       = "deb"
	kindRPM       = "rpm"
	kindAPK       = "apk"
	kindModule    = "go install"
	kindCheckout  = "checkout"
	kindUnknown   = "unknown"
)

// evidence is what is known of a program.
type evidence struct {
	program string // links resolved
	build   cli.BuildInfo
	run     func(ctx context.Context, argv ...string) (string, error)
}

// findOrigin finds how a program came here. What the path says comes first, because it costs nothing; then the
// databases of packages; then what the binary says of its build.
func findOrigin(ctx context.Context, e evidence) origin {
	o := origin{Program: e.program, Version: e.build.Version}
	path := filepath.ToSlash(e.program)
	for _, find := range []func() bool{
		func() bool { return o.readMarker() },
		func() bool { return o.matchPath(path) },
		func() bool { return o.findPackage(ctx, e) },
	} {
		if find() {
			return o
		}
	}
	switch e.build.Source {
	case cli.SourceModule:
		o.Kind, o.Command = kindModule, "go install "+modulePath+"@latest"
	case cli.SourceCheckout:
		o.Kind, o.Command = kindCheckout, "git pull && CGO_ENABLED=0 go build -o "+quoteWord(e.program)+" ."
		o.Note = "in the clone that it was built from"
	default:
		o.Kind = kindUnknown
		o.Note = "replace it by the program of an archive of " + homepage + "/releases"
	}
	return o
}

// quoteWord quotes a word for a shell, if it needs that.
func quoteWord(word string) string {
	if !strings.ContainsFunc(word, func(r rune) bool { return strings.ContainsRune(" \t\n!\"#$&'()*;<>?[\\]^`{|}~", r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// maxMarker limits the file that says what installed a program.
const maxMarker = 64 << 10

// readMarker reads the file that install.sh and the container image leave beside the folder of the program.
func (o *origin) readMarker() bool {
	prefix := filepath.Dir(filepath.Dir(o.Program))
	b, err := statefile.ReadRegular(filepath.Join(prefix, "lib", "cairn", "install"), maxMarker)
	if err != nil {
		return false
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		fields[name] = value
	}
	switch fields["installer"] {
	case kindScript:
		o.Kind, o.prefix, o.url, o.marked = kindScript, prefix, fields["url"], fields["version"]
		o.Command = "cairn upgrade"
	case kindContainer:
		o.Kind, o.Note = kindContainer, "build or pull the image of the new version, and start a container from it"
	}
	return o.Kind != ""
}

// matchPath recognises the folders of Homebrew and npm.
func (o *origin) matchPath(path string) bool {
	before, _, isNPM := strings.Cut(path, "/node_modules/"+npmPackage)
	project, _, isPNPM := strings.Cut(before, "/node_modules/.pnpm/")
	switch {
	case strings.Contains(path, "/Cellar/cairn/"):
		o.Kind, o.Command = kindHomebrew, "brew upgrade cairn"
	case isNPM && strings.Contains(before, "/_npx/"):
		o.Kind, o.Command = kindNPM, "npx "+npmPackage+"@latest"
	case isNPM && isPNPM:
		o.Kind, o.Command, o.Note = kindNPM, "pnpm add "+npmPackage+"@latest", "in "+project
	case isNPM && (strings.HasSuffix(before, "/lib") || strings.HasSuffix(before, "/AppData/Roaming/npm")): // of npm
		o.Kind, o.Command = kindNPM, "npm install --global "+npmPackage+"@latest"
	case isNPM:
		o.Kind, o.Command = kindNPM, "npm install "+npmPackage+"@latest"
		o.Note = "in " + cmp.Or(before, "/")
	default:
		return false
	}
	return true
}

// findPackage asks the databases of packages for the owner of the program's file.
func (o *origin) findPackage(ctx context.Context, e evidence) bool {
	for _, system := range []struct {
		kind    string
		query   []string
		name    func(output string) string // of the package
		command string
	}{
		{kindDeb, []string{"dpkg-query", "-S", e.program}, beforeColon, "sudo apt install ./FILE.deb"},
		{kindRPM, []string{"rpm", "-qf", "--queryformat", "%{NAME}", e.program}, strings.TrimSpace, "sudo rpm -U ./FILE.rpm"},
		{kindAPK, []string{"apk", "info", "--who-owns", e.program}, lastWord, "apk add --allow-untrusted ./FILE.apk"},
	} {
		out, err := e.run(ctx, system.query...)
		if err != nil {
			continue // no such program here, or the file is of no package
		}
		if name := system.name(out); name != "cairn" && !strings.HasPrefix(name, "cairn-") {
			o.Note = "of the package " + name
		} else {
			o.Note = "with the " + system.kind + " of the new version from " + homepage + "/releases"
		}
		o.Kind, o.Command = system.kind, system.command
		return true
	}
	return false
}

// beforeColon returns the package of "cairn: /usr/bin/cairn" or "cairn:amd64: /usr/bin/cairn".
func beforeColon(line string) string {
	name, _, _ := strings.Cut(line, ":")
	return name
}

// lastWord returns the package of "/usr/bin/cairn is owned by cairn-1.2.3-r0".
func lastWord(line string) string {
	words := strings.Fields(line)
	if len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
}

// script returns the path of the installer that an installation by it has; an error if it is gone.
func (o *origin) script() (string, error) {
	path := filepath.Join(o.prefix, "lib", "cairn", "install.sh")
	if _, err := statefile.ReadRegular(path, 1<<20); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", errors.New(path + " is missing; run the install.sh of " + homepage + "/releases")
		}
		return "", err
	}
	return path, nil
}
