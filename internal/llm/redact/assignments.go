package redact

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// maskAssignments removes the values of assignments to secret names: members of JSON, lines of environment files, INI
// and YAML, parameters of URLs and commands, headers, and literals in code. Values that are code stay.
func maskAssignments(text []byte) []byte {
	var cuts []cut
	colon, equals := -1, -1 // the next of each, which is faster than looking for both at once
	for at := 0; at < len(text); {
		colon, equals = nextByte(text, at, colon, ':'), nextByte(text, at, equals, '=')
		op := min(colon, equals)
		if op == len(text) {
			break
		}
		a := parseAssignment(text, op)
		at = max(a.from, op+1)
		if a.to > a.from && a.isSecret() {
			cuts = append(cuts, cut{a.from, a.to})
			at = a.to
		}
	}
	return maskCuts(text, cuts)
}

// nextByte returns the index of the next c from at on, last if that is it already, or len(text).
func nextByte(text []byte, at, last int, c byte) int {
	if last >= at {
		return last
	}
	if i := bytes.IndexByte(text[at:], c); i >= 0 {
		return at + i
	}
	return len(text)
}

// assignment is a name, an operator and a value in a text.
type assignment struct {
	text     []byte
	name     string // folded
	before   int    // where the name begins
	from, to int    // the value without its quotes; equal if it is missing
	operator byte   // ':' or '='
	spaced   bool   // there are blanks around the operator
	member   bool   // the name is quoted
	quoted   bool   // the value is quoted
	upper    bool   // the name is that of a variable of the environment
}

// maxName is the length of the longest name that is considered.
const maxName = 64

// parseAssignment reads the assignment with the operator at op. Without a secret name it has no value.
func parseAssignment(text []byte, op int) (a assignment) {
	a = assignment{text: text, operator: text[op], from: op + 1, to: op + 1}
	end := op
	for end > 0 && op-end < 8 && (text[end-1] == ' ' || text[end-1] == '\t') {
		end--
	}
	a.spaced = end < op
	if end > 0 && strings.IndexByte("\"'`", text[end-1]) >= 0 {
		a.member = true
		for end--; end > 0 && text[end-1] == '\\'; { // of JSON in JSON
			end--
		}
	}
	a.before = end
	for a.before > 0 && end-a.before < maxName && (isWordByte(text[a.before-1]) || text[a.before-1] == '.') {
		a.before--
	}
	if followsEscape(text, a.before+1) { // the n of an escaped line break is not part of the name
		a.before++
	}
	name := string(text[a.before:end])
	a.name = FoldName(name)
	isPart := a.name == "pwd" && a.operator == '=' || (a.member || a.operator == ':') && isKeyMember(a.name)
	if !isPart && !isAssignedSecret(name, a.name) {
		return a
	}
	a.upper = name == strings.ToUpper(name)
	a.findValue()
	return a
}

// credentialEnds are the last words of folded names whose assigned value is a secret. A name that goes on, as
// passwordField, is about the secret.
var credentialEnds = []string{
	"password", "passwd", "passphrase", "secret", "token", "key", "authorization", "cookie", "credential",
	"credentials", "connectionstring", "pwd", "secretkeybase",
}

// shortNames are names whose value is a secret in some forms only: a user and a password in base64, a variable.
var shortNames = []string{"auth", "pass", "sshpass", "dbpass", "rediscliauth"}

func isAssignedSecret(name, folded string) bool {
	if strings.HasSuffix(strings.ToLower(name), "_pass") || slices.Contains(shortNames, folded) {
		return true
	}
	if !slices.ContainsFunc(credentialEnds, func(end string) bool { return strings.HasSuffix(folded, end) }) {
		return false
	}
	return IsCredentialName(folded) || strings.HasSuffix(folded, "pwd") && len(folded) > len("pwd") && folded != "oldpwd"
}

// findValue finds the value: a quoted one without its quotes, a header to the end of its line, or a word.
func (a *assignment) findValue() {
	text, i := a.text, a.from
	for i < len(text) && strings.IndexByte("=>", text[i]) >= 0 {
		i++
	}
	start := i
	for i < len(text) && i-start < 40 && strings.IndexByte(" \t", text[i]) >= 0 {
		i++
	}
	a.spaced = a.spaced || i > start
	a.from = i
	escapes := 0
	for i+escapes < len(text) && text[i+escapes] == '\\' {
		escapes++
	}
	escaped := escapes > 0 && i+escapes < len(text) && text[i+escapes] == '"'
	if escaped {
		i += escapes
	}
	switch {
	case i < len(text) && strings.IndexByte("\"'`", text[i]) >= 0:
		a.quoted, a.from = true, i+1
		a.to = a.from + quotedLength(text[a.from:], text[i], escaped)
		for escapes > 1 && a.to > a.from && text[a.to-1] == '\\' { // of the quote
			a.to--
		}
	case a.isHeader():
		a.to = a.from + headerLength(text[a.from:])
	case a.isVariable() && a.name != "pwd":
		a.to = a.from + lengthBefore(text[a.from:], "\"'`\\ \t\r\n")
	default:
		a.to = a.from + lengthBefore(text[a.from:], "\"'`\\ \t\r\n&|<>;,)}]#")
	}
}

// quotedLength returns the length of a quoted value. In escaped JSON its end is an escaped quote.
func quotedLength(text []byte, quote byte, escaped bool) int {
	for i := 0; i < len(text); i++ {
		switch {
		case escaped && text[i] == '\\' && i+1 < len(text) && text[i+1] == quote:
			return i
		case escaped && text[i] == quote, !escaped && text[i] == quote, quote != '`' && text[i] == '\n':
			return i
		case text[i] == '\\':
			i++
		}
	}
	return len(text)
}

func lengthBefore(text []byte, ends string) int {
	if n := bytes.IndexAny(text, ends); n >= 0 {
		return n
	}
	return len(text)
}

// headerLength returns the length of the value of a header with credentials. Those of Digest have quotes.
func headerLength(text []byte) int {
	n := lengthBefore(text, "\"'`\\\r\n")
	if !strings.EqualFold(string(text[:min(len(text), len("digest "))]), "digest ") {
		return n
	}
	for n < len(text) && strings.IndexByte("\r\n'`", text[n]) < 0 {
		isEscape := text[n] == '\\' && !bytes.HasPrefix(text[n:], []byte(`\"`))
		isEnd := text[n] == '"' && text[n-1] != '=' && text[n-1] != '\\' && !bytes.ContainsAny(text[:n], "\"")
		if isEscape || isEnd {
			break
		}
		n++
	}
	return n
}

// isHeader reports whether it is a line of HTTP with credentials.
func (a *assignment) isHeader() bool {
	return a.operator == ':' && (strings.HasSuffix(a.name, "authorization") || strings.HasSuffix(a.name, "cookie"))
}

// isVariable reports whether it has the form of a line of an environment file: NAME=value.
func (a *assignment) isVariable() bool { return a.operator == '=' && !a.spaced && a.upper }

var headerPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`(?i)^(?:(?:bearer|basic|token|digest|negotiate|apikey|ssws|aws4-hmac-sha256)\s+[^\s$<{%*(]\S{5,}` +
			`|[\w.-]+=[^\s$<{%*(].*)`,
	)
})

// isSecret reports whether the value is a secret and not code, a type or a placeholder.
func (a *assignment) isSecret() bool {
	value := a.text[a.from:a.to]
	switch {
	case len(value) == 0 || bytes.HasPrefix(value, []byte(Mark)) || isPlaceholder(value):
		return false
	case a.name == "auth":
		return isBasicAuth(value)
	case a.name == "pwd":
		return a.isParameter() && isLiteral(value) && !isPath(string(value))
	case isKeyMember(a.name):
		isWhole := a.quoted || a.isLine()
		return isWhole && len(value) >= a.minKeyMember() && runLength(value, "_-") == len(value) && a.isInKey()
	case a.name == "pass" && !a.isVariable() && !a.quoted:
		return a.operator == '=' && a.startsLine() && a.isLine() && len(value) >= 16 && isMixed(value)
	case a.name == "pass" && !a.isVariable():
		return a.quoted && len(value) >= 6 && hasDigit(value) && bytes.IndexByte(value, ' ') < 0
	case a.member && a.quoted && a.operator == ':':
		return true // JSON
	case !a.quoted && a.isHeader():
		return headerPattern().Match(value)
	case a.quoted:
		return a.isLiteralSecret(string(value))
	default:
		return a.isWordSecret(string(value))
	}
}

// isBasicAuth reports whether the value is a user and a password in base64, as in the settings of docker and npm.
func isBasicAuth(value []byte) bool {
	plain, err := base64.StdEncoding.DecodeString(string(value))
	user, password, _ := bytes.Cut(plain, []byte(":"))
	return err == nil && len(user) > 0 && len(password) > 0 && utf8.Valid(plain)
}

// isMixed reports whether the value is a word with digits, and letters of both cases.
func isMixed(value []byte) bool {
	return runLength(value, "_-") == len(value) && hasDigit(value) && bytes.ContainsAny(value, letters[:26]) &&
		bytes.ContainsAny(value, letters[26:])
}

// isKeyMember reports whether a name is that of a secret number of a JSON Web Key.
func isKeyMember(name string) bool {
	return slices.Contains([]string{"d", "p", "q", "dp", "dq", "qi", "k"}, name)
}

// minKeyMember is the length of the shortest value of the key's member. A symmetric key may be short.
func (a *assignment) minKeyMember() int {
	if a.name == "k" && a.quoted {
		return 11
	}
	return 20
}

// maxKeyMembers is the length of the text around a member that is considered: a key of RSA with 8192 bits is shorter.
const maxKeyMembers = 8 << 10

// isInKey reports whether the member is one of a JSON Web Key: the type of the key is near, as a member in the same quotes.
func (a *assignment) isInKey() bool {
	around := a.text[max(0, a.before-maxKeyMembers):min(len(a.text), a.to+maxKeyMembers)]
	for rest := around; ; {
		i := bytes.Index(rest, []byte("kty"))
		if i < 0 {
			return false
		}
		isWhole := i == 0 || !isAlphanumeric(rest[i-1]) && rest[i-1] != '_' || followsEscape(rest, i)
		rest = rest[i+len("kty"):]
		after := bytes.TrimLeft(rest[:min(len(rest), 8)], "\\\"' ")
		isQuoted := len(rest) > 0 && strings.IndexByte("\\\"'", rest[0]) >= 0
		if isWhole && isQuoted == a.member && bytes.HasPrefix(after, []byte(":")) {
			return true
		}
	}
}

// isEncodedText reports whether a value is a text in base64, with the padding that tells it from a word.
func isEncodedText(value string) bool {
	plain, err := base64.StdEncoding.DecodeString(value)
	return strings.HasSuffix(value, "=") && err == nil && len(plain) >= 4 && utf8.Valid(plain)
}

// isLiteralSecret judges a quoted value. Words without digits are labels, unless a variable of the environment is set.
func (a *assignment) isLiteralSecret(value string) bool {
	switch {
	case a.isVariable():
		return len(value) >= 4 && a.text[a.from-1] != '`' // a command
	case len(value) < 6 || isPath(value):
		return false
	case strings.HasSuffix(a.name, "passphrase"):
		return true
	}
	if strings.Contains(value, " ") {
		return isPasswordName(a.name) && a.isSetting() && isPassphrase(value)
	}
	label := strings.Trim(value, letters+"_-./:") == "" // nothing else at its ends
	return !label || strings.ContainsAny(value, digits)
}

// noValues are words for a setting without a value.
var noValues = []string{"true", "false", "null", "none", "nil"}

// isWordSecret judges a value without quotes.
func (a *assignment) isWordSecret(value string) bool {
	hasDigit := strings.ContainsAny(value, "0123456789")
	word := strings.TrimLeft(value, "!&*-@:") // operators of code
	identifier := strings.Trim(word, letters+"0123456789_.$") == "" &&
		(word == "" || word[0] < '0' || word[0] > '9')
	switch {
	case strings.ContainsAny(value, "([{") || slices.Contains(noValues, strings.ToLower(value)):
		return false
	case a.isVariable():
		return len(value) >= 4
	case len(value) < 6 || isPath(value) && len(value) != 40:
		return false
	case strings.Trim(value, "0123456789") == "": // a number
		return false
	case identifier && len(value) < 32 && strings.Contains(FoldName(value), lastWord(a.name)),
		typeName().MatchString(value):
		return false
	case isEncodedText(value) && a.isLine():
		return true
	case !identifier:
		return hasDigit || strings.Trim(value, letters+"_.-+/:=?") != ""
	case hasDigit:
		return a.isLine() || !a.spaced && a.operator == '=' || a.isListed() && a.isWord(value)
	case a.isParameter() && isLiteral([]byte(value)), len(value) >= 16 && a.isPrinted() && a.isLine():
		return true
	default:
		return a.operator == '=' && !a.spaced && len(value) >= 8 && a.isLine() && a.startsLine() &&
			!strings.ContainsAny(value, "._$")
	}
}

var typeName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^\*?(?:u?int|bytes|float|sha|md|utf|base|bcrypt|argon|oauth|string|char)[0-9a-z_]*$`)
})

// isLine reports whether nothing but a comment follows the value on its line, or on the one that a command prints.
func (a *assignment) isLine() bool {
	return a.to == len(a.text) || strings.IndexByte("\r\n\\", a.text[a.to]) >= 0 ||
		strings.IndexByte("\"' ", a.text[a.to]) >= 0 && a.isPrinted() || a.isCommented()
}

// isCommented reports whether a comment of YAML, INI or the shell follows the value.
func (a *assignment) isCommented() bool {
	rest := a.text[a.to:]
	blanks := len(rest) - len(bytes.TrimLeft(rest, " \t"))
	return blanks > 0 && blanks < len(rest) && rest[blanks] == '#'
}

// isListed reports whether a comma follows the value, as between assignments in a text, and in code.
func (a *assignment) isListed() bool { return a.to < len(a.text) && a.text[a.to] == ',' }

// isWord reports whether an identifier with digits is the value of a variable of the environment and no constant, or too
// long for one of code without words in it.
func (a *assignment) isWord(value string) bool {
	if strings.ContainsAny(value, "._$") {
		return false
	}
	return a.upper && value != strings.ToUpper(value) || len(value) >= 16 && value == strings.ToLower(value)
}

// startsLine reports whether nothing precedes the name on its line, or the line number of a tool, the sign of a diff,
// the export of a variable, or the command that prints it.
func (a *assignment) startsLine() bool {
	line := strings.TrimLeft(a.linePrefix(), "0123456789")
	return slices.Contains([]string{"", ":", ": ", "+", "-", "export "}, line) || a.isPrinted()
}

// printers end what precedes an assignment that a command prints, sends or sets.
var printers = []string{
	"echo ", "printf ", "-n ", "-e ", "-d ", "--data ", "--data-raw ", "--data-urlencode ", "-F ", "--form ", "--set ",
	"--env ", "--build-arg ", "--from-literal=", "-H ", "--header ", "--header=", "-var ", "-var=",
}

// isPrinted reports whether the assignment is at the beginning of what a command prints, sends or sets.
func (a *assignment) isPrinted() bool {
	line := strings.TrimRight(a.linePrefix(), "\"'\\")
	return slices.ContainsFunc(printers, func(p string) bool { return strings.HasSuffix(line, p) })
}

// connectionNames are names in the texts with which programs connect to databases.
var connectionNames = []string{"user=", "host=", "server=", "data source=", "user id=", "uid="}

// isParameter reports whether it is a parameter of a URL or form, or part of the text that connects to a database.
func (a *assignment) isParameter() bool {
	if a.before == 0 || a.operator != '=' || a.spaced {
		return false
	}
	end := byte('"')
	if a.to < len(a.text) {
		end = a.text[a.to]
	}
	switch a.text[a.before-1] {
	case '?', '&':
		return true
	case ' ', ';':
		line := strings.ToLower(a.linePrefix())
		return !strings.HasSuffix(line, ", ") && strings.IndexByte(" ;\"'\\\n", end) >= 0 &&
			slices.ContainsFunc(connectionNames, func(name string) bool { return strings.Contains(line, name) })
	}
	return false
}

// linePrefix returns what precedes the name on its line, which may be one of JSON or printf.
func (a *assignment) linePrefix() string {
	line := string(a.text[max(0, a.before-maxCommand):a.before])
	line = line[strings.LastIndexByte(line, '\n')+1:]
	if i := strings.LastIndex(line, `\n`); i >= 0 {
		line = line[i+len(`\n`):]
	}
	return line
}

// lastWord returns the credential word that ends the name.
func lastWord(name string) string {
	for _, end := range credentialEnds {
		if strings.HasSuffix(name, end) {
			return end
		}
	}
	return name
}

func isPath(value string) bool {
	return strings.HasPrefix(value, "/") || strings.HasPrefix(value, "./") || strings.HasPrefix(value, "../") ||
		strings.HasPrefix(value, "~/") || strings.Contains(value, "://")
}
