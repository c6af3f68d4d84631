package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/access/shell"
	"github.com/cairn-dev/cairn/internal/finding"
)

// Examine returns what is wrong in the configuration, or that it was read. more are warnings about settings that other
// packages read.
func (c *Config) Examine(more []Warning) []finding.Finding {
	if len(c.Errors) > 0 {
		return c.ListErrorFindings()
	}
	found := []finding.Finding{{
		Level: finding.OK, What: "configuration", Detail: fmt.Sprintf("read, %d warnings", len(c.Warnings)),
	}}
	for _, w := range GroupWarnings(slices.Concat(c.Warnings, more)) {
		found = append(found, finding.Finding{Level: finding.Warning, What: "configuration", Detail: w.String()})
	}
	if !c.Snapshot {
		found = append(found, finding.Finding{
			Level: finding.Note, What: "snapshots",
			Detail: "disabled here: cairn undo takes back messages, but no files",
			Fix:    "remove \"snapshot\": false from the configuration",
		})
	}
	return append(found, examineShell(c.Shell)...)
}

// Fix says what to do with a configuration that cannot be used.
const Fix = "correct the file; cairn config explain shows the values in use"

// ListErrorFindings reports the errors that keep a configuration from being used.
func (c *Config) ListErrorFindings() []finding.Finding {
	var found []finding.Finding
	for _, e := range c.Errors {
		found = append(found, finding.Finding{
			Level: finding.Error, What: "configuration", Detail: e.Error(), Fix: Fix,
		})
	}
	return found
}

// examineShell says if no line for the configured shell is plain.
func examineShell(name string) []finding.Finding {
	if name == "" || shell.IsSupported(name) {
		return nil
	}
	return []finding.Finding{{
		Level: finding.Note, What: "shell",
		Detail: name + " is not bash, sh, dash or ash: no pattern applies to its command lines, " +
			"so they need a rule for all commands, their exact text or an answer",
		Fix: "set the key \"shell\" to one of these",
	}}
}

// ExamineModes looks for files that other users can read (S16).
func (d Directories) ExamineModes() []finding.Finding {
	var found []finding.Finding
	for _, name := range []string{"", "cairn.db", auth.FileName, auth.SharedName} {
		p := filepath.Join(d.Data, name)
		info, err := os.Stat(p)
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			found = append(found, finding.Finding{
				Level: finding.Warning, What: "permissions",
				Detail: fmt.Sprintf("%s has mode %04o: other users can read it", p, info.Mode().Perm()),
				Fix:    "chmod go-rwx " + p,
			})
		}
	}
	return found
}
