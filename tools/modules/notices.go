package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// printNotices writes the texts that the licences of the modules, and of Go's standard library, ask everybody to pass
// on with a binary.
func printNotices(w io.Writer, modules []module) error {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env GOROOT: %w", err)
	}
	modules = append(modules, module{Path: "Go standard library", Dir: strings.TrimSpace(string(root))})
	var b strings.Builder
	b.WriteString("The binary of cairn has code of the following modules. Their licences and notices follow.\n")
	for _, m := range modules {
		if m.Main {
			continue
		}
		texts, err := readNotices(m.Dir)
		if err != nil {
			return fmt.Errorf("notices: %s: %w", m.Path, err)
		}
		title := strings.TrimSpace(m.Path + " " + m.Version)
		fmt.Fprintf(&b, "\n%s\n%s\n%s\n", strings.Repeat("=", 80), title, strings.Repeat("=", 80))
		for _, text := range texts {
			fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(text))
		}
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// readNotices returns the texts of the licence files and notices of a directory, in the order of their names.
func readNotices(dir string) (texts []string, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		switch stem := strings.ToLower(filepath.Base(name)); strings.TrimSuffix(stem, filepath.Ext(stem)) {
		case "license", "licence", "copying", "notice", "patents":
		default:
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		texts = append(texts, strings.ReplaceAll(string(text), "\r\n", "\n"))
	}
	if texts == nil {
		return nil, errors.New("it has no licence file")
	}
	return texts, nil
}
