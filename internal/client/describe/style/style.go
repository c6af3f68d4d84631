// Package style holds the styles of the terminal interface.
package style

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
)

// Theme is a set of styles.
type Theme struct {
	Text, Muted, Accent, Heading, Code, Success, Warning, Error, Added, Removed, Selected, Border lipgloss.Style
}

// ListNames returns the names of the themes. The first one is the default: the 16 colours of the terminal.
func ListNames() []string { return []string{"terminal", "dark", "light", "contrast"} }

// New returns the theme of a name; "" is the default. NO_COLOR gives one without colours.
func New(name string, env func(string) string) (Theme, error) {
	// The theme without colours; each other theme replaces a part of it.
	plain := lipgloss.NewStyle()
	t := Theme{
		Text: plain, Muted: plain.Faint(true), Accent: plain.Bold(true), Heading: plain.Bold(true), Code: plain,
		Success: plain, Warning: plain.Bold(true), Error: plain.Bold(true), Added: plain, Removed: plain,
		Selected: plain.Reverse(true), Border: plain.Faint(true),
	}
	if name != "" && !slices.Contains(ListNames(), name) {
		return t, fmt.Errorf("theme %q not found; choose one of %s", name, strings.Join(ListNames(), ", "))
	}
	if env("NO_COLOR") != "" {
		return t, nil
	}
	color := func(n string) lipgloss.Style { return plain.Foreground(lipgloss.Color(n)) }
	switch name {
	case "dark": // of 256 colours; a terminal with fewer gets the nearest ones
		t.Muted, t.Border, t.Code = color("245"), color("239"), color("180")
		t.Accent, t.Success, t.Warning = color("80").Bold(true), color("114"), color("221").Bold(true)
		t.Error, t.Added, t.Removed = color("203").Bold(true), color("114"), color("210")
	case "light":
		t.Muted, t.Border, t.Code = color("241"), color("248"), color("94")
		t.Accent, t.Success, t.Warning = color("25").Bold(true), color("28"), color("130").Bold(true)
		t.Error, t.Added, t.Removed = color("124").Bold(true), color("22"), color("124")
	case "contrast": // nothing is faint
		t.Muted, t.Border = plain, plain
		t.Accent, t.Success, t.Warning = plain.Bold(true), plain.Bold(true), plain.Bold(true).Underline(true)
		t.Error, t.Selected = plain.Bold(true).Reverse(true), plain.Bold(true).Reverse(true)
		t.Added, t.Removed = color("2").Bold(true), color("1").Bold(true)
	default:
		t.Accent, t.Success, t.Warning = color("6").Bold(true), color("2"), color("3").Bold(true)
		t.Code = color("6")
		t.Error, t.Added, t.Removed = color("1").Bold(true), color("2"), color("1")
	}
	return t, nil
}
