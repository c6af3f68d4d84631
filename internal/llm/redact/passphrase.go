package redact

import (
	"slices"
	"strings"
)

// isPasswordName reports whether a folded name is that of a password, which may have blanks; tokens and keys have none.
func isPasswordName(name string) bool {
	return strings.HasSuffix(name, "password") || strings.HasSuffix(name, "passwd") || strings.HasSuffix(name, "passphrase")
}

// labelWords are words of labels and messages. A value with one of them is about a password.
var labelWords = []string{
	"password", "passwords", "passwd", "passphrase", "secret", "token", "key", "hash", "hashed", "user",
	"username", "login", "email", "account", "sign", "log", "enter", "please", "type", "choose", "confirm",
	"confirmation", "repeat", "retype", "again", "show", "hide", "change", "changed", "new", "old", "current",
	"default", "forgot", "forgotten", "reset", "required", "optional", "missing", "invalid", "incorrect",
	"wrong", "weak", "strong", "empty", "blank", "value", "string", "text", "field", "input", "example",
	"placeholder", "description", "characters", "letters", "minimum", "maximum", "least", "most", "too",
	"short", "long", "must", "should", "cannot", "can't", "can", "a", "an", "the", "is", "are", "was", "be",
	"has", "have", "does", "do", "did", "not", "no", "and", "or", "if", "for", "of", "to", "in", "on", "at",
	"by", "from", "with", "without", "as", "it", "its", "this", "that", "your", "you", "my", "our", "here",
	"left", "same", "match", "set", "get", "use", "used", "stored", "see", "run",
}

// isPassphrase reports whether a value with blanks is a password and no label: several words of small letters, as
// people choose them, or words with digits among their letters, or with digits and signs. None is one of labelWords.
func isPassphrase(value string) bool {
	words := strings.Fields(value)
	if len(words) < 2 || len(words) > 10 || strings.ContainsAny(value, "{}<>%$\\()[]") {
		return false
	}
	isPlain, isMixed := true, false
	for _, w := range words {
		if slices.Contains(labelWords, strings.ToLower(strings.Trim(w, ".,;:!?'\""))) {
			return false
		}
		isPlain = isPlain && len(w) > 1 && strings.Trim(w, letters[:26]) == ""
		isMixed = isMixed || strings.ContainsAny(w, digits) && strings.ContainsAny(w, letters)
	}
	hasSign := strings.ContainsAny(value, "!@#^&*+=~")
	return isPlain || isMixed || hasSign && strings.ContainsAny(value, digits)
}

// declarations are words before the name of a variable.
var declarations = []string{"", "export", "set", "const", "let", "var", "val", "String", "string"}

// isSetting reports whether the quoted value is that of a line of settings or code: only its declaration, its
// indentation and what a diff or a tool puts before the line precede the name, and only the end of a statement follows.
func (a *assignment) isSetting() bool {
	before := a.linePrefix()
	if i := strings.LastIndex(before, `":`); i >= 0 { // the text is a member of JSON
		before = strings.TrimLeft(before[i+2:], " \"")
	}
	before = strings.ReplaceAll(before, `\t`, "")
	if !slices.Contains(declarations, strings.Trim(before, " \t"+digits+":+-|")) {
		return false
	}
	after := strings.TrimLeft(string(a.text[a.to:min(len(a.text), a.to+8)]), "\\")
	if after == "" {
		return true
	}
	after = strings.TrimLeft(after[1:], " ;,")
	return after == "" || strings.IndexByte("\r\n\\#\"", after[0]) >= 0 || strings.HasPrefix(after, "//")
}
