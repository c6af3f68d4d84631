package describe

import (
	"cmp"
	"fmt"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// DescribeNextRequest says what the request takes of the window, and how it begins, in lines of at most 80 columns.
func DescribeNextRequest(r api.ContextRequest) []string {
	size := terminal.FormatCount(r.Tokens) + " tokens"
	if r.Window.Size > 0 {
		size += fmt.Sprintf(" of %s (%s)", terminal.FormatCount(r.Window.Size), terminal.FormatPercent(r.Window.Fill))
	}
	lines := []string{
		terminal.FirstLine(fmt.Sprintf("%s, %s, agent %s", r.SessionID, r.Model, r.Agent), 80),
		fmt.Sprintf(
			"next request: %s, %s bytes, %s",
			size,
			terminal.FormatCount(r.Bytes),
			terminal.FormatPlural(r.Messages, "message"),
		),
	}
	// One line about the window, of which the first that applies.
	switch {
	case r.Window.Size == 0:
		lines = append(lines, "window: unknown for this model")
	case r.Problem != "":
		lines = append(lines, "the next turn will fail: the request does not fit")
	case r.Compacts:
		lines = append(lines, "the history is summarised before it: the request leaves no room for an answer")
	case r.Window.Compact > 0:
		lines = append(lines, fmt.Sprintf("compaction begins at %s tokens; room for the answer: %s",
			terminal.FormatCount(r.Window.Compact), terminal.FormatCount(r.Window.Room)))
	default:
		lines = append(lines, "no compaction begins by itself (compaction.auto is false)")
	}
	// Then facts that do not always apply, and how the request begins.
	if n := r.Hides.Outputs; n > 0 {
		lines = append(lines, fmt.Sprintf("hidden before it: %s of tools, %s tokens",
			terminal.FormatPlural(n, "old output"), terminal.FormatCount(r.Hides.Tokens)))
	}
	if r.Prompts > 0 {
		lines = append(lines, "with "+terminal.FormatPlural(r.Prompts, "pending prompt"))
	}
	for _, address := range r.Missing {
		lines = append(lines, terminal.FirstLine(DescribeMissingPage(address), 80))
	}
	for _, text := range r.Servers {
		lines = append(lines, terminal.FirstLine(text, 80))
	}
	return append(lines, describePrefix(r)...)
}

// DescribeMissingPage says that a page of instructions was never fetched.
func DescribeMissingPage(address string) string {
	return "instructions are missing: " + address + " cannot be reached"
}

// describePrefix says how the request begins compared with the last one.
func describePrefix(r api.ContextRequest) []string {
	if r.Last == nil && r.Prefix.Changed == "" {
		return []string{"cache: no request before it, prefix " + r.Prefix.Hash}
	}
	shared := int64(0)
	for _, s := range r.Sources {
		shared += s.Cached
	}
	lines := []string{fmt.Sprintf("cache: begins like the last request for %s tokens, prefix %s",
		terminal.FormatCount(shared), r.Prefix.Hash)}
	if r.Last != nil && r.Last.Tokens.Sum() > 0 {
		lines = append(lines, fmt.Sprintf("last request: %s tokens, %s of them from the provider's cache",
			terminal.FormatCount(r.Last.Tokens.Input+r.Last.Tokens.Cache.Read+r.Last.Tokens.Cache.Write),
			terminal.FormatCount(r.Last.Tokens.Cache.Read)))
	}
	if r.Prefix.Changed != "" {
		why := cmp.Or(string(r.Prefix.Cause), "unknown cause")
		lines = append(lines, terminal.FirstLine("changed: "+r.Prefix.Changed+" ("+why+")", 80))
	}
	return lines
}
