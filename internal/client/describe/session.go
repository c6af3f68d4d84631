package describe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

func SessionTitle(s *session.Session) string {
	t := terminal.FirstLine(s.Title, 70)
	if s.Time.Archived != 0 {
		t += " (archived)"
	}
	return t
}

// SessionMark returns the title for a list of sessions, with a mark if actions without a rule run there without asking
// or if it is ephemeral, and the tags.
func SessionMark(s *session.Session) string {
	t := SessionTitle(s)
	if s.Open {
		t += " (does not ask)"
	}
	if s.Ephemeral {
		t += " (ephemeral)"
	}
	if tags := FormatTags(s.Tags); tags != "" {
		t += " [" + tags + "]"
	}
	return t
}

// FormatTags returns the tags as one line.
func FormatTags(tags []string) string { return terminal.FirstLine(strings.Join(tags, ", "), 120) }

// DescribePaused says that a session waits after a crash, and how to continue it. The directory may be empty.
func DescribePaused(id session.ID, directory string) string {
	if directory != "" {
		directory = " of " + directory
	}
	const text = "the session %s%s was cut off and waits; to continue it, run: cairn attach -s %[1]s"
	return fmt.Sprintf(text, id, directory)
}

// OpenNote explains a session that does not ask.
const OpenNote = "an OpenCode client started this session: what no rule decides runs without asking"

// DescribeSharedFiles returns the line about the files of the entries that other sessions changed as well, "" without any.
func DescribeSharedFiles(entries []session.ContextEntry) string {
	return formatSharedFiles(session.ReadSharedFiles(entries))
}

// DescribeNewSharedFiles is DescribeSharedFiles for the sessions that added files since this one last worked.
func DescribeNewSharedFiles(s *session.Session) string {
	list := session.ReadSharedFiles(s.Entries)
	return formatSharedFiles(slices.DeleteFunc(list, func(f session.SharedFiles) bool { return f.Time <= s.Time.Updated }))
}

// describeAddedFiles is DescribeSharedFiles for what the newest setting of the entry added.
func describeAddedFiles(e session.ContextEntry) string {
	var added []session.SharedFiles
	for _, f := range session.ReadSharedFiles([]session.ContextEntry{e}) {
		if 0 < f.Added && f.Added <= len(f.Files) {
			f.Files = f.Files[len(f.Files)-f.Added:]
			added = append(added, f)
		}
	}
	return formatSharedFiles(added)
}

func formatSharedFiles(list []session.SharedFiles) string {
	var lines []string
	for _, f := range list {
		lines = append(lines, f.String())
	}
	if len(lines) == 0 {
		return ""
	}
	return "another session changed the same files: " + strings.Join(lines, "; ")
}
