package mcp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestApprovalsOfOtherVersions reads the file of the earliest versions. That of a newer cairn approves nothing and stays as
// it is.
func TestApprovalsOfOtherVersions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp-tools.json")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"/work\u0000one_echo":{"fingerprint":"f1","description":"Says it again","schema":{"type":"object"}}}`)
	if d, ok := NewApprovals(path).find("/work", "one_echo"); !ok || d.Fingerprint != "f1" || d.Description != "Says it again" {
		t.Errorf("version 1: %+v, %v", d, ok)
	}
	const newer = `{"version":2,"/work\u0000one_echo":{"fingerprint":"f1"}}`
	write(newer)
	a := NewApprovals(path)
	if d, ok := a.find("/work", "one_echo"); ok {
		t.Errorf("version 2 approves %+v", d)
	}
	err := a.note(t.Context(), "/work", "one", "one_echo", Definition{Fingerprint: "f2"})
	if err == nil || !strings.Contains(err.Error(), "was written by a newer cairn: version 2") {
		t.Errorf("a change of version 2: %v", err)
	}
	if text, _ := os.ReadFile(path); string(text) != newer {
		t.Errorf("the file is now %s", text)
	}
}
