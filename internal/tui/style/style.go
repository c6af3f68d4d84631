// Package style holds the styles of the terminal interface.
package style

import "charm.land/lipgloss/v2"

// Theme is a set of styles.
type Theme struct {
	Text, Muted, Accent, Heading, Code, Success, Warning, Error, Added, Removed, Selected, Border lipgloss.Style

	Dark bool
}

// New returns the theme of a name. NO_COLOR gives one without colours.
func New(_ string, env func(string) string, dark bool) (Theme, error) {
	plain := lipgloss.NewStyle()
	t := Theme{
		Text: plain, Muted: plain.Faint(true), Accent: plain.Bold(true), Heading: plain.Bold(true), Code: plain,
		Success: plain, Warning: plain.Bold(true), Error: plain.Bold(true), Added: plain, Removed: plain,
		Selected: plain.Reverse(true), Border: plain.Faint(true), Dark: dark,
	}
	if env("NO_COLOR") != "" {
		return t, nil
	}
	color := func(n string) lipgloss.Style { return plain.Foreground(lipgloss.Color(n)) }
	t.Accent, t.Success, t.Warning = color("6").Bold(true), color("2"), color("3").Bold(true)
	t.Error, t.Added, t.Removed = color("1").Bold(true), color("2"), color("1")
	return t, nil
}
