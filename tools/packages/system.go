package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk" // each registers its format
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

const (
	homepage    = "https://" + module
	maintainer  = "The cairn authors <cairn-dev@users.noreply.github.com>"
	description = "Durable coding-agent sessions\n" +
		"cairn runs coding-agent sessions and stores every prompt, model response and\n" +
		"tool result in an append-only log as it happens, so that a session continues\n" +
		"after a crash, a restart or Ctrl-C. It is one static program with a\n" +
		"full-screen interface, a command line and an HTTP server."
)

// writeSystemPackage writes the package of a Linux target for a package system; other targets have none. It uses nfpm
// v2.45.2, because later versions need modules that not every module proxy serves (go.digitalxero.dev/go-msix and rpm).
func (r *release) writeSystemPackage(format string, t target, c content, program []byte) error {
	if t.system != "linux" {
		return nil
	}
	members, err := listSystemFiles(format, c, program)
	if err != nil {
		return err
	}
	info := &nfpm.Info{
		Name: "cairn", Arch: t.arch, Platform: t.system, Version: r.systemVersion(format), VersionSchema: "none",
		Section: "devel", Priority: "optional", Maintainer: maintainer, Description: description, Vendor: "cairn",
		Homepage: homepage, License: "MIT", MTime: r.time, DisableGlobbing: true,
	}
	// Release is the number of the packaging, which apk needs and deb does not.
	switch format {
	case "apk":
		info.Release = "0"
	case "rpm":
		info.Release = "1"
	}
	info.RPM.BuildHost, info.RPM.Summary = "localhost", "Durable coding-agent sessions"
	if format != "apk" {
		info.Recommends, info.Suggests = []string{"git"}, []string{"ripgrep"}
	}
	// nfpm reads files from the disk.
	root := filepath.Join(r.work, format+"-"+t.arch)
	for _, m := range members {
		source := filepath.Join(root, filepath.FromSlash(m.path))
		err := errors.Join(os.MkdirAll(filepath.Dir(source), 0o755), os.WriteFile(source, m.content, m.mode))
		if err != nil {
			return err
		}
		info.Contents = append(info.Contents, &files.Content{
			Source: source, Destination: m.path,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: m.mode, MTime: r.time},
		})
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := packager.Package(nfpm.WithDefaults(info), &b); err != nil {
		return err
	}
	return r.writeFile(r.fileName(t, format), b.Bytes())
}

// listSystemFiles returns the files of a package at their places in the system. Debian has its own folder for zsh and
// its own name for licences.
func listSystemFiles(format string, c content, program []byte) ([]file, error) {
	man, err := compress(c.man)
	if err != nil {
		return nil, err
	}
	zsh, licence := "/usr/share/zsh/site-functions/_cairn", "/usr/share/licenses/cairn/LICENSE"
	if format == "deb" {
		zsh, licence = "/usr/share/zsh/vendor-completions/_cairn", "/usr/share/doc/cairn/copyright"
	}
	return []file{
		{"/usr/bin/cairn", 0o755, program},
		{"/usr/lib/systemd/user/cairn.service", 0o644, c.unit},
		{"/usr/share/bash-completion/completions/cairn", 0o644, c.completions["bash"]},
		{zsh, 0o644, c.completions["zsh"]},
		{"/usr/share/fish/vendor_completions.d/cairn.fish", 0o644, c.completions["fish"]},
		{"/usr/share/man/man1/cairn.1.gz", 0o644, man},
		{licence, 0o644, c.licence},
		{"/usr/share/doc/cairn/THIRD-PARTY-LICENSES", 0o644, c.notices},
		{"/usr/share/doc/cairn/README.md", 0o644, c.readme},
	}, nil
}
