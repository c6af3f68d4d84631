package main

import (
	"os"
	"path/filepath"
	"testing"
)

const isc = "Permission to use, copy, modify, and distribute\n" +
	"this software for any purpose with or without fee is hereby granted"

// A module without a licence file, or with one of another kind, is refused.
func TestFindLicences(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		allowed    bool
	}{
		"allowed":    {"LICENSE", isc, true},
		"with a dot": {"Licence.md", isc, true},
		"none":       {"README", isc, false},
		"unknown":    {"LICENSE", "All rights reserved.", false},
		"beside GPL": {"LICENSE", isc + "\nGNU General Public License", false},
		"GPL":        {"COPYING", "GNU GENERAL PUBLIC LICENSE Version 3", false},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if ids, err := findLicences(dir); (err == nil) != c.allowed {
			t.Errorf("%s: %v, %v", name, ids, err)
		}
	}
}
