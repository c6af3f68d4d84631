package transcript

import (
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
)

// TestCommandOutput: colours and progress bars of commands are shown as text, other control characters as signs.
func TestCommandOutput(t *testing.T) {
	tests := map[string]struct{ output, want string }{
		"colours":      {"\x1b[31;1mred\x1b[0m \x1b[2Kend\n", "red end"},
		"progress":     {" 10%\r 50%\r100%\r\ndone\r\n", "100%\ndone"},
		"open command": {"a\x1b]0;title then text", "a\uFFFD]0;title then text"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			lines := painter{width: 80}.styleLines(lipgloss.NewStyle(), tt.output)
			if got := strings.Join(lines, "\n"); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
