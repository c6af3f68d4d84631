package redact

import (
	"bytes"
	"slices"
	"strings"
)

// secretPhrase is the beginning of a command, a statement of SQL or a line of settings whose next word is a secret.
type secretPhrase struct {
	prefix string
	named  bool // the name of the secret comes first
	skip   int  // other words that come first
	quoted bool // the secret is quoted and may have letters only
}

var secretPhrases = []secretPhrase{
	{prefix: "set ", named: true},
	{prefix: "set -x ", named: true},
	{prefix: "set -gx ", named: true},
	{prefix: "set -Ux ", named: true},
	{prefix: "setenv ", named: true},
	{prefix: "setx ", named: true},
	{prefix: "ENV ", named: true},
	{prefix: "config ", named: true},
	{prefix: "config --global ", named: true},
	{prefix: "define(", named: true, quoted: true}, // of PHP
	{prefix: "http-basic.", skip: 2},
	{prefix: "pypi-token.", skip: 1},
	{prefix: "vault login "},
	{prefix: "cargo login "},
	{prefix: "setapikey "},
	{prefix: "requirepass "},
	{prefix: "masterauth "},
	{prefix: "ConvertTo-SecureString ", quoted: true},
	{prefix: "IDENTIFIED BY ", quoted: true},
	{prefix: "identified by ", quoted: true},
	{prefix: "PASSWORD ", quoted: true},
	{prefix: "PASSWORD(", quoted: true},
	{prefix: "with password ", quoted: true},
	{prefix: "encrypted password ", quoted: true},
}

// find implements wordShape.
func (p secretPhrase) find(text []byte, _, next int) (cut, bool) {
	c := readValue(text, next)
	if p.named {
		name := string(text[c.from:c.to])
		name = name[strings.LastIndexAny(name, ":/.")+1:]
		if !isAssignedSecret(name, FoldName(name)) {
			return cut{}, false
		}
		p.skip = 1
	}
	for range p.skip {
		i := skipToValue(text, c.to)
		if i < 0 || i == c.to {
			return cut{}, false
		}
		c = readValue(text, i)
	}
	value := text[c.from:c.to]
	isQuoted := c.from > 0 && (text[c.from-1] == '\'' || text[c.from-1] == '"')
	switch {
	case !isLiteral(value) || bytes.IndexByte(value, '=') == 0 || isFileName(value):
		return cut{}, false
	case p.quoted:
		return c, isQuoted
	}
	return c, hasDigit(value) && len(value) >= 6
}

// secretReaders are parts of commands that read a secret from their input.
var secretReaders = []string{
	"password-stdin", "--with-token", "sudo -S", "chpasswd", "secret set", "secret put", "secrets put", "secret create",
	"passphrase-fd", "versions add", "kinit ", "passwd --stdin", "token=-",
}

func readsSecret(line []byte) bool {
	return slices.ContainsFunc(secretReaders, func(r string) bool { return bytes.Contains(line, []byte(r)) })
}

// findPipedSecret finds the secret in `echo SECRET | docker login --password-stdin`. next is behind echo or printf.
func findPipedSecret(text []byte, _, next int) (cut, bool) {
	// The line, also one of JSON, goes on with a reader of secrets.
	line := text[next : next+lengthBefore(text[next:min(len(text), next+2*maxCommand)], "\n")]
	if i := bytes.Index(line, []byte(`\n`)); i > 0 && line[i-1] != '\\' && !bytes.HasPrefix(line[i+2:], []byte("'")) {
		line = line[:i] // of JSON
	}
	pipe := bytes.IndexByte(line, '|')
	if pipe < 0 || len(line) == 0 || line[0] != ' ' || !readsSecret(line[pipe:]) {
		return cut{}, false
	}
	// The secret is behind the options and the format.
	c := cut{next, next}
	for range 3 {
		i := skipToValue(text, c.to)
		if i < 0 {
			return cut{}, false
		}
		c = readValue(text, i)
		value := text[c.from:c.to]
		if len(value) > 0 && value[0] != '-' && value[0] != '%' {
			break
		}
	}
	if bytes.Contains(line[pipe:], []byte("chpasswd")) {
		return findPairPassword(text, c)
	}
	return c, isLiteral(text[c.from:c.to])
}

// findHereSecret finds the secret in `docker login --password-stdin <<< SECRET`.
func findHereSecret(text []byte, start, next int) (cut, bool) {
	head := text[max(0, start-maxCommand):start]
	if !readsSecret(head[bytes.LastIndexByte(head, '\n')+1:]) {
		return cut{}, false
	}
	i := skipToValue(text, next)
	if i < 0 {
		return cut{}, false
	}
	c := readValue(text, i)
	return c, isLiteral(text[c.from:c.to])
}
