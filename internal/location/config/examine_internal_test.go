package config

import (
	"testing"
)

// No line for another shell than bash and its like is plain.
func TestExamineShell(t *testing.T) {
	for name, noted := range map[string]bool{
		"": false, "/bin/bash": false, "dash": false, "/usr/bin/fish": true, "zsh": true,
	} {
		if got := examineShell(name); (len(got) == 1) != noted {
			t.Errorf("%q: %+v", name, got)
		}
	}
}
