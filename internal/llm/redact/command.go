package redact

import (
	"bytes"
	"slices"
	"strings"
)

// valueForm is the form in which an option of a command contains a password.
type valueForm int

const (
	formValue    valueForm = iota // -p VALUE, -pVALUE, --name VALUE or --name=VALUE
	formAttached                  // -pVALUE only
	formPair                      // a user, one of ":%,", and the password
	formLast                      // the last word of the command
)

// passwordOption is an option whose value is a password or contains one.
type passwordOption struct {
	names    string // without dashes
	programs string // one of which the command has; "" stands for any
	form     valueForm
	command  string // which the command has as well
}

var passwordOptions = []passwordOption{
	{"u U user proxy-user", "curl", formPair, ""},
	{"u", "lftp", formPair, ""},
	{"U", "smbclient rpcclient", formPair, ""},
	{"a auth", "http https xh", formPair, ""},
	{"creds src-creds dest-creds", "", formPair, ""},
	{
		"p", "mysql mysqldump mysqladmin mysqlimport mysqlshow mysqlcheck mysqlpump mysqlslap mysqlbinlog mariadb " +
			"mariadb-dump mariadb-admin mariadb-import mariadb-check mariadb-show mycli 7z 7za 7zr 7zz rar unrar",
		formAttached, "",
	},
	{"p password", "docker podman buildah nerdctl helm oc cf az ibmcloud oras", formValue, "login"},
	{
		"p password", "sshpass mongo mongosh mongodump mongorestore mongoexport mongoimport cqlsh rabbitmqadmin twine",
		formValue, "",
	},
	{"P", "zip unzip sqlcmd bcp mosquitto_pub mosquitto_sub ipmitool", formValue, ""},
	{"w", "ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami ldappasswd ldapmodrdn", formValue, ""},
	{"a", "redis-cli", formValue, ""},
	{"k", "openssl nuget", formValue, ""},
	{"b body", "gh", formValue, "secret"},
	{"storepass keypass", "keytool jarsigner", formValue, ""},
	{"pass passin passout", "openssl", formValue, ""},
	{"b", "htpasswd", formLast, ""},
}

// findOptionSecret finds the password in an option of a command and its value.
func findOptionSecret(text []byte, start, next int) (cut, bool) {
	if start > 0 && strings.IndexByte(" \t\n\"'`([,", text[start-1]) < 0 && !followsEscape(text, start) {
		return cut{}, false
	}
	// Its name.
	for next < len(text) && next < start+2 && text[next] == '-' {
		next++
	}
	end := next
	for end < len(text) && end < next+maxName && (isWordByte(text[end]) || text[end] == '.') {
		end++
	}
	name := string(text[next:end])
	if name == "" {
		return cut{}, false
	}
	// Its meaning: by its name, or by the program.
	if isSecretOption(name) {
		return findNamedValue(text, start, end)
	}
	for _, o := range passwordOptions {
		if c, ok := o.find(text, start, name); ok {
			return c, true
		}
	}
	return cut{}, false
}

// isSecretOption reports whether an option of any program has a secret as its value: --password, -storepass.
func isSecretOption(name string) bool {
	if len(name) < len("pass") {
		return false
	}
	folded := FoldName(name)
	if strings.HasSuffix(folded, "cookie") || strings.HasSuffix(folded, "privatekey") {
		return false // a file
	}
	return isAssignedSecret(name, folded) || strings.HasSuffix(folded, "pass") || folded == "passin" ||
		folded == "passout"
}

// findNamedValue finds the value of an option whose name ends at end. A word of letters is one only behind an equals
// sign or in the command of a program that takes passwords: usage texts have --password string.
func findNamedValue(text []byte, start, end int) (cut, bool) {
	// Find the value behind an equals sign or a space.
	separate := end == len(text) || text[end] != '='
	from := end + 1
	if separate {
		if from = skipToValue(text, end); from < 0 {
			return cut{}, false
		}
	}
	c := readValue(text, from)
	// A kind of source precedes openssl's values: only pass: is followed by the secret itself.
	for _, kind := range []string{"pass:", "env:", "file:", "fd:"} { // of openssl
		if !bytes.HasPrefix(text[c.from:c.to], []byte(kind)) {
			continue
		}
		if kind != "pass:" {
			return cut{}, false
		}
		c.from += len(kind)
		break // what follows is the secret, whatever it begins with
	}
	value := text[c.from:c.to]
	// Placeholders and file names are not secrets. A plain word is one only behind a program that takes passwords.
	switch {
	case !isLiteral(value) || isFileName(value) || bytes.IndexByte(value, ' ') >= 0 && !separate:
		return cut{}, false
	case separate && len(bytes.Trim(value, letters+"-_.=:")) == 0:
		return c, slices.ContainsFunc(passwordOptions, func(o passwordOption) bool {
			_, first := o.findProgram(text, start)
			return first && hasWord(o.names, strings.TrimLeft(string(text[start:end]), "-"))
		})
	}
	return c, true
}

func isFileName(value []byte) bool {
	return isPath(string(value)) || bytes.HasSuffix(value, []byte(".pem")) || bytes.HasSuffix(value, []byte(".txt")) ||
		bytes.HasSuffix(value, []byte(".key")) || bytes.HasSuffix(value, []byte(".json"))
}

// find finds the password in the option called name, or in a group of options of one letter, at start.
func (o passwordOption) find(text []byte, start int, name string) (cut, bool) {
	next := start + 1
	if text[next] == '-' {
		next++
	}
	end, matched := next+len(name), hasWord(o.names, name)
	attached := end < len(text) && text[end] == '='
	if !matched && next == start+1 {
		for letter := range strings.FieldsSeq(o.names) {
			i := strings.IndexByte(name[:min(len(name), 6)], letter[0])
			if len(letter) == 1 && i >= 0 && (i == 0 || o.form != formAttached && i+1 == len(name)) {
				matched, attached, end = true, i+1 < len(name), next+i+1
			}
		}
	}
	if !matched {
		return cut{}, false
	}
	found, first := o.findProgram(text, start)
	if !found {
		return cut{}, false
	}
	return o.findValue(text, end, attached, first)
}

// findValue finds the password in the value of an option that ends at end. attached says that a value follows without a
// blank, first that the program begins the command.
func (o passwordOption) findValue(text []byte, end int, attached, first bool) (cut, bool) {
	from := end
	switch {
	case o.form == formLast:
		return findLastWord(text, end)
	case attached && text[end] == '=':
		from++
	case !attached && end < len(text) && strings.IndexByte("\"'\\", text[end]) >= 0 && o.form != formPair:
		// -p'VALUE'
	case !attached && o.form == formAttached && (end == len(text) || strings.IndexByte(" \t\r\n\"'", text[end]) >= 0):
		return cut{}, false
	case !attached && end < len(text) && strings.IndexByte(" \t\"'\\,", text[end]) >= 0:
		if from = skipToValue(text, end); from < 0 {
			return cut{}, false
		}
	}
	c := readValue(text, from)
	if o.form == formPair {
		return findPairPassword(text, c)
	}
	value := text[c.from:c.to]
	isWord := len(bytes.Trim(value, letters)) == 0
	return c, isLiteral(value) && !isNumber(value) && (first || !isWord)
}

// hasWord reports whether a list has the word.
func hasWord(list, word string) bool {
	for w := range strings.FieldsSeq(list) {
		if w == word {
			return true
		}
	}
	return false
}

// isNumber reports whether it is a short number or ports, not a password.
func isNumber(value []byte) bool {
	return len(bytes.Trim(value, "0123456789")) == 0 && len(value) < 6 || len(bytes.Trim(value, "0123456789:./")) == 0 &&
		bytes.IndexByte(value, ':') >= 0
}

// findPairPassword finds the password in USER:PASSWORD, or the user if it is a token without a password.
func findPairPassword(text []byte, pair cut) (cut, bool) {
	i := bytes.IndexAny(text[pair.from:pair.to], ":%,")
	if i < 0 {
		return cut{}, false
	}
	user := text[pair.from : pair.from+i]
	c := cut{pair.from + i + 1, pair.to}
	if c.from == c.to { // user:'password', or a token
		if c = readValue(text, c.from); c.from == pair.to {
			return cut{pair.from, pair.from + i}, len(user) >= 16 && isLiteral(user) && hasDigit(user)
		}
	}
	value := text[c.from:c.to]
	isIDs := len(bytes.Trim(text[pair.from:pair.to], "0123456789:")) == 0
	return c, isLiteral(value) && !isIDs && !bytes.HasPrefix(value, []byte("//")) && !bytes.HasSuffix(user, []byte("$"))
}

// findLastWord finds the last word of the command that goes on at i, behind at least two others.
func findLastWord(text []byte, i int) (cut, bool) {
	var last cut
	words := 0
	for words < 8 {
		if i = skipToValue(text, i); i < 0 {
			break
		}
		last = readValue(text, i)
		isQuoted := strings.IndexByte("\"'", text[last.from-1]) >= 0
		i, words = last.to, words+1
		if i == len(text) || !isQuoted && strings.IndexByte(" \t", text[i]) < 0 {
			break
		}
	}
	return last, words >= 2 && isLiteral(text[last.from:last.to])
}

// commandBreaks joins continued lines, also of JSON in a text, and ends commands at operators.
var commandBreaks = strings.NewReplacer(
	"\\\n", " ", `\\\n`, " ", `\n`, "\n", "&&", "\n", "||", "\n", "; ", "\n", " | ", "\n", "$(", "\n",
)

// findProgram reports whether the command before i has one of the programs, and whether it begins with it: also behind
// a prompt, variables, sudo, or a quote.
func (o passwordOption) findProgram(text []byte, i int) (found, first bool) {
	head := commandBreaks.Replace(string(text[max(0, i-maxCommand):i]))
	head = head[strings.LastIndexByte(head, '\n')+1:]
	if o.programs == "" || !strings.Contains(head, o.command) {
		return o.programs == "", false
	}
	for program := range strings.FieldsSeq(o.programs) {
		for at := 0; ; {
			n := strings.Index(head[at:], program)
			if n < 0 {
				break
			}
			before, after := head[:at+n], head[at+n+len(program):]
			at += n + len(program)
			if strings.Trim(after[:min(1, len(after))], " \t\"',\\") != "" {
				continue
			}
			dir := strings.TrimRight(before, letters+"0123456789./_~-")
			switch {
			case isCommandStart(dir):
				return true, true
			case dir == before || strings.HasSuffix(before, "bin/"):
				found = true
			}
		}
	}
	return found, false
}

// isCommandStart reports whether a command begins behind the text.
func isCommandStart(before string) bool {
	before = before[strings.LastIndexAny(before, "\"'`([")+1:]
	for word := range strings.FieldsSeq(before) {
		if strings.ContainsAny(word, letters) && !strings.Contains(word, "=") &&
			!slices.Contains([]string{"sudo", "time", "exec", "env", "nohup", "run", "run:", "RUN"}, word) {
			return false
		}
	}
	return true
}

// skipToValue returns where the word after i begins, behind its quote: after blanks, the end of a continued line, or
// what stands between two strings of a list. It returns -1 if the line ends before.
func skipToValue(text []byte, i int) int {
	for start := i; i < len(text) && i < start+16; i++ {
		switch c := text[i]; {
		case c == '\n' && text[i-1] != '\\':
			return -1
		case c == '\\' && i+1 < len(text) && strings.IndexByte("nrt", text[i+1]) >= 0: // of JSON
			if text[i-1] != '\\' {
				return -1
			}
			i++
		case strings.IndexByte(" \t\n\"',\\", c) < 0:
			return i
		}
	}
	return -1
}

// readValue returns the word at i, without its quotes. One of them may be before i.
func readValue(text []byte, i int) cut {
	isQuote := func(i int) bool { return i >= 0 && i < len(text) && (text[i] == '"' || text[i] == '\'') }
	switch {
	case isQuote(i):
		i++
	case isQuote(i+1) && text[i] == '\\':
		i += 2
	}
	if isQuote(i - 1) {
		return cut{i, i + quotedLength(text[i:], text[i-1], i > 1 && text[i-2] == '\\')}
	}
	i = min(i, len(text))
	return cut{i, i + lengthBefore(text[i:], "\"'`\\ \t\r\n&|<>;()")}
}
