package config

import (
	"strconv"
	"strings"
)

// Getenv looks up CAIRN_<name>, and OPENCODE_<name> when that is not set (spec/v1 §36).
func Getenv(getenv func(string) string, name string) string {
	if v := getenv("CAIRN_" + name); v != "" {
		return v
	}
	return getenv("OPENCODE_" + name)
}

// Setenv is getenv with one variable that Getenv looks up set to a value.
func Setenv(getenv func(string) string, name, value string) func(string) string {
	return func(asked string) string {
		if asked == "CAIRN_"+name {
			return value
		}
		return getenv(asked)
	}
}

// Switch reports whether the variable of Getenv is on: true or 1, in any case.
func Switch(getenv func(string) string, name string) bool {
	v := Getenv(getenv, name)
	return v == "1" || strings.EqualFold(v, "true")
}

// Number is the variable of Getenv as a number above 0; 0 when it is none.
func Number(getenv func(string) string, name string) int64 {
	n, err := strconv.ParseInt(Getenv(getenv, name), 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// Foreigners says what of other agents' files is left out.
type Foreigners struct {
	Prompts  bool // CLAUDE.md
	Claude   bool // skills in .claude
	External bool // skills in .agents too
}

// WithoutForeigners reads the switches that leave out other agents' files.
func WithoutForeigners(getenv func(string) string) Foreigners {
	all, external := Switch(getenv, "DISABLE_CLAUDE_CODE"), Switch(getenv, "DISABLE_EXTERNAL_SKILLS")
	return Foreigners{
		Prompts:  all || Switch(getenv, "DISABLE_CLAUDE_CODE_PROMPT"),
		Claude:   all || external || Switch(getenv, "DISABLE_CLAUDE_CODE_SKILLS"),
		External: external,
	}
}
