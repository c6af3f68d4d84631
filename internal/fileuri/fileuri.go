// Package fileuri converts paths to file: URIs and back.
package fileuri

import (
	"net/url"
	"path/filepath"
	"strings"
)

// Format returns the URI of an absolute path.
func Format(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // a drive of Windows
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// Parse returns the path of a URI; ok is false if it names no file. Programs escape more or less than Format, and some
// the colon of a drive.
func Parse(uri string) (path string, ok bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return "", false
	}
	path = u.Path
	if len(path) > 2 && path[0] == '/' && path[2] == ':' && filepath.Separator == '\\' {
		path = strings.ToUpper(path[1:2]) + path[2:]
	}
	return filepath.Clean(filepath.FromSlash(path)), true
}
