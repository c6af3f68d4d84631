// Command modules describes the modules of the binary of the checkout in the working directory:
//
//	modules licences             fails unless each module has a licence file of an allowed kind
//	modules notices              prints the licences and notices of all modules, as packages must have them
//	modules sbom                 prints a bill of materials in the JSON of CycloneDX 1.6
//	modules sbom BINARY VERSION  prints that of a binary: the modules that are linked into it, and its hash
//
// It needs no network: the modules are those of the module cache.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	modules, err := listModules()
	if err != nil {
		return err
	}
	switch {
	case slices.Equal(args, []string{"licences"}):
		return checkLicences(modules)
	case slices.Equal(args, []string{"notices"}):
		return printNotices(os.Stdout, modules)
	case slices.Equal(args, []string{"sbom"}):
		return printBill(modules, bill{})
	case len(args) == 3 && args[0] == "sbom":
		return printBinaryBill(args[1], args[2], modules)
	default:
		return errors.New("usage: modules licences | modules notices | modules sbom [BINARY VERSION]")
	}
}

// module is one module of the binary.
type module struct {
	Path, Version, Dir string
	Main               bool
}

// targets are the systems for which the binary is built; each can have modules of its own.
var targets = []string{"linux", "darwin", "windows"}

// listModules returns the modules whose packages the binary has on any target.
func listModules() ([]module, error) {
	seen := map[string]module{}
	for _, target := range targets {
		cmd := exec.Command("go", "list", "-deps", "-f",
			"{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{.Main}}{{end}}", ".")
		cmd.Env = append(os.Environ(), "GOOS="+target, "CGO_ENABLED=0")
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %s: %w", target, err)
		}
		for line := range strings.Lines(string(out)) {
			f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			if len(f) == 4 {
				seen[f[0]] = module{Path: f[0], Version: f[1], Dir: f[2], Main: f[3] == "true"}
			}
		}
	}
	var all []module
	for _, m := range seen {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

func checkLicences(modules []module) error {
	var bad []error
	for _, m := range modules {
		if m.Main {
			continue
		}
		if _, err := findLicences(m.Dir); err != nil {
			bad = append(bad, fmt.Errorf("licences: %s %s: %w", m.Path, m.Version, err))
		}
	}
	if bad != nil {
		return errors.Join(bad...)
	}
	fmt.Printf("licences: ok, %d modules\n", len(modules)-1)
	return nil
}

// licences are the allowed kinds, each with sentences that only its text has. All of them permit a binary under other
// terms.
var licences = []struct {
	id        string
	sentences []string
}{
	{"Apache-2.0", []string{"Apache License", "Version 2.0, January 2004", "Grant of Patent License"}},
	{"MIT", []string{
		"Permission is hereby granted, free of charge, to any person obtaining a copy",
		"sell copies of the Software",
		"The above copyright notice and this permission notice shall be included in",
	}},
	{"ISC", []string{
		"Permission to use, copy, modify, and distribute this software for any purpose with or without fee is hereby granted",
	}},
	{"BSD-3-Clause", []string{
		"Redistribution and use in source and binary forms, with or without modification, are permitted",
		"Neither the name",
	}},
	{"BSD-2-Clause", []string{
		"Redistribution and use in source and binary forms, with or without modification, are permitted",
	}},
}

// findLicences returns the kinds of the module's licence files. All files in its directory must be of an allowed kind,
// except those with the licences of works that it only mentions: notices, logos and files named for a third party.
func findLicences(dir string) ([]string, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, name := range names {
		switch strings.TrimSuffix(strings.ToLower(filepath.Base(name)), filepath.Ext(name)) {
		case "license", "licence", "copying":
		default:
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		id := identifyLicence(string(text))
		if id == "" {
			return nil, fmt.Errorf("%s is of no allowed kind", filepath.Base(name))
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if ids == nil {
		return nil, errors.New("it has no licence file")
	}
	return ids, nil
}

// forbidden are words of licences whose text contains an allowed one.
var forbidden = []string{
	"GNU GENERAL PUBLIC", "GNU AFFERO", "GNU LESSER", "Commons Clause", "Business Source License",
	"Server Side Public",
}

func identifyLicence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for _, words := range forbidden {
		if strings.Contains(strings.ToLower(text), strings.ToLower(words)) {
			return ""
		}
	}
	for _, l := range licences {
		if !slices.ContainsFunc(l.sentences, func(s string) bool { return !strings.Contains(text, s) }) {
			return l.id
		}
	}
	return ""
}
