package config

import (
	"strconv"
	"strings"
)

// Getenv returns the variable CAIRN_<name>, or OPENCODE_<name> if that is not set.
func Getenv(getenv func(string) string, name string) string {
	if v := getenv("CAIRN_" + name); v != "" {
		return v
	}
	return getenv("OPENCODE_" + name)
}

// VariableName returns the name of the variable whose value Getenv returns.
func VariableName(getenv func(string) string, name string) string {
	if getenv("CAIRN_"+name) == "" && getenv("OPENCODE_"+name) != "" {
		return "OPENCODE_" + name
	}
	return "CAIRN_" + name
}

// Setenv returns getenv with the variable CAIRN_<name> set to value.
func Setenv(getenv func(string) string, name, value string) func(string) string {
	return func(asked string) string {
		if asked == "CAIRN_"+name {
			return value
		}
		return getenv(asked)
	}
}

// IsSwitchOn reports whether the variable that Getenv returns is "true", in any case, or "1".
func IsSwitchOn(getenv func(string) string, name string) bool {
	v := Getenv(getenv, name)
	return v == "1" || strings.EqualFold(v, "true")
}

// PositiveNumber returns the variable that Getenv returns as a positive number; 0 if it is not one.
func PositiveNumber(getenv func(string) string, name string) int64 {
	n, err := strconv.ParseInt(Getenv(getenv, name), 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// ForeignFiles are kinds of other agents' files that are not read.
type ForeignFiles struct {
	Prompts  bool // CLAUDE.md
	Claude   bool // skills in .claude
	External bool // skills in .agents too
}

// DisabledForeignFiles reads the switches that disable other agents' files.
func DisabledForeignFiles(getenv func(string) string) ForeignFiles {
	all, external := IsSwitchOn(getenv, "DISABLE_CLAUDE_CODE"), IsSwitchOn(getenv, "DISABLE_EXTERNAL_SKILLS")
	return ForeignFiles{
		Prompts:  all || IsSwitchOn(getenv, "DISABLE_CLAUDE_CODE_PROMPT"),
		Claude:   all || external || IsSwitchOn(getenv, "DISABLE_CLAUDE_CODE_SKILLS"),
		External: external,
	}
}
