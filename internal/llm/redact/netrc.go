package redact

import (
	"bytes"
	"strings"
)

// findPgPassword finds the password of an entry of .pgpass: HOST:5432:DATABASE:USER:PASSWORD.
func findPgPassword(text []byte, start, next int) (cut, bool) {
	end := next + lengthBefore(text[next:], "\\\"'` \t\r\n")
	fields := bytes.SplitN(text[next:end], []byte(":"), 3)
	if start == 0 || text[start-1] != ':' || len(fields) < 3 {
		return cut{}, false
	}
	return cut{end - len(fields[2]), end}, isLiteral(fields[2])
}

// findNetrcPassword finds the password of an entry of .netrc: machine HOST or default, and login USER, account NAME and
// password PASSWORD in any order, on one line or several.
func findNetrcPassword(text []byte, start, next int) (cut, bool) {
	word := func() cut {
		for next < len(text) {
			switch {
			case strings.IndexByte(" \t\r\n", text[next]) >= 0:
				next++
			case text[next] == '\\' && next+1 < len(text) && strings.IndexByte("nrt", text[next+1]) >= 0:
				next += 2
			default:
				c := cut{next, next + lengthBefore(text[next:], "\\\"'` \t\r\n")}
				next = c.to
				return c
			}
		}
		return cut{next, next}
	}
	if next == len(text) || strings.IndexByte(" \t\r\n\\", text[next]) < 0 {
		return cut{}, false
	}
	// Sentences have these words as well. An entry has a name of a host, several lines, or a password with more than
	// letters.
	isEntry := false
	if text[start] == 'm' {
		host := word()
		isEntry = bytes.IndexByte(text[host.from:host.to], '.') > 0
	}
	var password cut
	login := false
	for range 4 {
		key := word()
		value := word()
		switch string(text[key.from:key.to]) {
		case "login":
			login = true
			isEntry = isEntry || bytes.ContainsAny(text[start:key.from], "\n\\")
			continue
		case "password":
			password = value
			continue
		case "account", "port":
			continue
		}
		break
	}
	value := text[password.from:password.to]
	isEntry = isEntry || len(bytes.Trim(value, letters)) > 0
	return password, isEntry && login && isLiteral(value)
}
