package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// file is a member of an archive or package.
type file struct {
	path    string
	mode    fs.FileMode
	content []byte
}

// writeArchive writes the archive of a target: all in one folder named as the archive.
func (r *release) writeArchive(t target, c content, program []byte) error {
	files := []file{
		{t.programName(), 0o755, program},
		{"LICENSE", 0o644, c.licence},
		{"THIRD-PARTY-LICENSES", 0o644, c.notices},
		{"README.md", 0o644, c.readme},
	}
	switch t.system {
	case "windows":
		files = append(files, file{"completions/cairn.ps1", 0o644, c.completions["powershell"]})
	default:
		files = append(files,
			file{"completions/cairn.bash", 0o644, c.completions["bash"]},
			file{"completions/_cairn", 0o644, c.completions["zsh"]},
			file{"completions/cairn.fish", 0o644, c.completions["fish"]},
			file{"man/man1/cairn.1", 0o644, c.man},
			file{"install.sh", 0o755, c.installer})
		if t.system == "linux" {
			files = append(files, file{"systemd/cairn.service", 0o644, c.unit})
		}
	}
	ending, pack := "tar.gz", packTar
	if t.system == "windows" {
		ending, pack = "zip", packZip
	}
	name := r.fileName(t, ending)
	for i := range files {
		files[i].path = strings.TrimSuffix(name, "."+ending) + "/" + files[i].path
	}
	b, err := pack(files, r.time)
	if err != nil {
		return err
	}
	return r.writeFile(name, b)
}

// packTar returns the files as tar.gz, sorted by path, with one time and without an owner.
func packTar(files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	w := tar.NewWriter(gz)
	for _, f := range sortFiles(files) {
		head := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.path, Mode: int64(f.mode.Perm()), Size: int64(len(f.content)), ModTime: at,
			Format: tar.FormatUSTAR,
		}
		if err := w.WriteHeader(head); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	err := gz.Close()
	return b.Bytes(), err
}

// packZip returns the files as zip, sorted by path, with one time.
func packZip(files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range sortFiles(files) {
		head := &zip.FileHeader{Name: f.path, Method: zip.Deflate, Modified: at}
		head.SetMode(f.mode)
		to, err := w.CreateHeader(head)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// sortFiles returns the files in the order of their paths.
func sortFiles(files []file) []file {
	return slices.SortedFunc(slices.Values(files), func(a, b file) int { return strings.Compare(a.path, b.path) })
}
