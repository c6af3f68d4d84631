package root

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/spelling"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usageError rewrites cobra's errors about flags and arguments in the style of cairn's messages.
func (g program) usageError(cmd *cobra.Command, err error) error {
	// Errors with a type: an unknown flag, an invalid value, a missing value.
	text := err.Error()
	if unknown, ok := errors.AsType[interface {
		error
		GetSpecifiedName() string
		GetSpecifiedShortnames() string
	}](err); ok && strings.HasPrefix(text, "unknown") {
		if words := cmd.Flags().Args(); len(words) > 0 && !cmd.HasParent() { // of a command that cairn does not have
			return g.unknownCommand(cmd, words)
		}
		return unknownFlag(cmd, unknown.GetSpecifiedName(), unknown.GetSpecifiedShortnames() != "")
	}
	if invalid, ok := errors.AsType[interface {
		error
		GetValue() string
	}](err); ok {
		return invalidFlag(cmd, err, invalid.GetValue())
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		name, value := missing.GetFlag().Name, "VALUE"
		if named, _ := pflag.UnquoteUsage(missing.GetFlag()); named != "" {
			value, _, _ = strings.Cut(named, "[")
		}
		return fmt.Errorf("--%s needs a value; use --%s %s", name, name, value)
	}
	// Errors that cobra describes in words only. A new version of cobra may change the words; then its own text is
	// shown.
	switch {
	case strings.HasPrefix(text, "required flag(s) "):
		_, name, _ := strings.Cut(text, `"`)
		name, _, _ = strings.Cut(name, `"`)
		return fmt.Errorf("--%s is missing; use %s", name, cmd.UseLine())
	case strings.HasPrefix(text, "if any flags in the group"):
		_, names, _ := strings.Cut(text, "; [")
		names, _, _ = strings.Cut(names, "]")
		return fmt.Errorf("only one of --%s can be given", strings.Join(strings.Fields(names), " and --"))
	case strings.HasPrefix(text, "requires at least"), strings.HasPrefix(text, "accepts "):
		return fmt.Errorf("wrong number of arguments; use %s", cmd.UseLine())
	case strings.HasPrefix(text, "unknown command") && !cmd.HasSubCommands() && strings.Contains(text, " for "):
		return fmt.Errorf("%s takes no arguments", cmd.CommandPath())
	}
	return err
}

// invalidFlag returns the error for the value of a flag, which the text of err names.
func invalidFlag(cmd *cobra.Command, err error, value string) error {
	text := err.Error()
	_, name, _ := strings.Cut(text, "--")
	name, _, _ = strings.Cut(name, `"`)
	f := cmd.Flags().Lookup(name)
	if f == nil {
		return errors.New(text)
	}
	want := map[string]string{
		"duration": "a duration like 30s, 10m or 1h",
		"int":      "a whole number", "int64": "a whole number", "bool": "true or false",
		"uint16": "a whole number from 0 to 65535",
	}[f.Value.Type()]
	if cause := errors.Unwrap(err); want == "" && cause != nil {
		return fmt.Errorf("--%s: %w", name, cause)
	}
	if want == "" {
		return err
	}
	return fmt.Errorf("--%s must be %s, got %q", name, want, terminal.FirstLine(value, 40))
}

// unknownFlag returns the error for a flag that the command does not have. It suggests the nearest; for a letter, the
// first flag that begins with it.
func unknownFlag(cmd *cobra.Command, name string, isLetter bool) error {
	var names []string
	for l := range strings.Lines(cmd.Flags().FlagUsages()) {
		if _, flag, ok := strings.Cut(l, "--"); ok {
			names = append(names, strings.Fields(flag + " ")[0])
		}
	}
	dashes := "--"
	if isLetter {
		dashes = "-"
	}
	if use := foreignFlag(cmd, name, names); use != "" {
		return fmt.Errorf("unknown flag: %s%s; %s", dashes, terminal.FirstLine(name, 40), use)
	}
	near := spelling.FindNearest(name, names, 1)
	if isLetter {
		near = slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, name) })
	}
	text := "unknown flag: " + dashes + terminal.FirstLine(name, 40)
	switch {
	case cmd.Name() == "search" && isLetter: // more likely a word to leave out
		text += "; write -- before words that begin with -: cairn search -- WORDS"
	case len(near) > 0:
		text += "; did you mean --" + near[0] + "?"
	}
	return errors.New(text)
}

// foreignFlag says what to use instead of a flag of similar programs; "" for other flags. names are the flags of the
// command. A flag that only cairn run has is named with it.
func foreignFlag(cmd *cobra.Command, name string, names []string) string {
	if cmd.Name() == "stats" && name == "from" {
		return "use --since DATE"
	}
	isRun, isRoot := cmd.Name() == "run", !cmd.HasParent()
	if !isRun && !isRoot && cmd.Name() != "tui" && cmd.Name() != "attach" {
		return ""
	}
	printing := slices.Contains(printFlags, name)
	use := foreignFlags[name]
	if near := spelling.FindNearest(name, slices.Sorted(maps.Keys(foreignFlags)), 1); use == "" && len(near) > 0 &&
		len(name) > 4 && len(spelling.FindNearest(name, names, 1)) == 0 {
		use = foreignFlags[near[0]]
	}
	flag, _, _ := strings.Cut(strings.TrimLeft(use, "-"), " ")
	flag, _, _ = strings.Cut(flag, "=")
	switch {
	case printing && isRun:
		return "omit it: cairn run prints the answer and ends"
	case printing:
		return `to print an answer and end: cairn run "…"`
	case use == "":
		return ""
	case slices.Contains(names, flag):
		return "use " + use
	default:
		return "use cairn run " + use
	}
}
