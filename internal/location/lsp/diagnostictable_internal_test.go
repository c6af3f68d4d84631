package lsp

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStoreIsBounded(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ files, diagnostics, wantFiles, wantTotal int }{
		{maxFiles + 100, 1, maxFiles, maxFiles},
		{200, maxKept, maxDiagnostics / maxKept, maxDiagnostics},
	} {
		s := newDiagnosticTable()
		for i := range test.files {
			s.put(fmt.Sprint(i), make([]Diagnostic, test.diagnostics), -1, false)
		}
		if len(s.files) != test.wantFiles || s.total != test.wantTotal {
			t.Errorf("%d files with %d: %d files with %d in all", test.files, test.diagnostics, len(s.files), s.total)
		}
		// What is cleared makes room.
		for i := range test.files {
			s.put(fmt.Sprint(i), nil, -1, false)
		}
		if len(s.files) != 0 || s.total != 0 {
			t.Errorf("%d files with %d are left", len(s.files), s.total)
		}
	}
}

// An error that is there twice was not there twice before.
func TestListNew(t *testing.T) {
	t.Parallel()
	one, two := Diagnostic{Severity: 1, Message: "one"}, Diagnostic{Severity: 1, Message: "two"}
	moved := one
	moved.Range.Start.Line, moved.Range.End.Line = 3, 3
	warning := Diagnostic{Severity: 2, Message: "warning"}
	s := newDiagnosticTable()
	s.put("a", []Diagnostic{one}, -1, false)
	before := s.countErrors()
	s.put("a", []Diagnostic{moved, two, warning}, -1, false)
	if diff := cmp.Diff(map[string][]Diagnostic{"a": {two}}, s.listNew(before)); diff != "" {
		t.Error(diff)
	}
	s.put("a", []Diagnostic{one, moved}, -1, false)
	if diff := cmp.Diff(map[string][]Diagnostic{"a": {moved}}, s.listNew(before)); diff != "" {
		t.Error(diff)
	}
	// What was pushed and pulled is one error.
	s.put("a", []Diagnostic{one}, -1, false)
	s.put("a", []Diagnostic{one}, -1, true)
	if diff := cmp.Diff(map[string][]Diagnostic{}, s.listNew(before)); diff != "" {
		t.Error(diff)
	}
}
