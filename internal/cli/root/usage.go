package root

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/spelling"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usageError rewrites cobra's errors about flags and arguments in the style of cairn's messages.
func usageError(cmd *cobra.Command, err error) error {
	// Errors with a type: an unknown flag, an invalid value, a missing value.
	text := err.Error()
	if unknown, ok := errors.AsType[interface {
		error
		GetSpecifiedName() string
		GetSpecifiedShortnames() string
	}](err); ok && strings.HasPrefix(text, "unknown") {
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
	dashes, near := "--", spelling.FindNearest(name, names, 1)
	if isLetter {
		dashes, near = "-", slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, name) })
	}
	text := "unknown flag: " + dashes + terminal.FirstLine(name, 40)
	if len(near) > 0 {
		text += "; did you mean --" + near[0] + "?"
	}
	return errors.New(text)
}
