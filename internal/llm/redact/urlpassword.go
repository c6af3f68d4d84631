package redact

import "bytes"

// maskURLPasswords removes the passwords of URLs with a user, and users that are tokens.
func maskURLPasswords(text []byte) []byte {
	var cuts []cut
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte("://"))
		if i < 0 {
			return maskCuts(text, cuts)
		}
		start := at + i + len("://")
		at = start
		n := bytes.IndexAny(text[start:min(len(text), start+512)], "/?#\"'`<>\\ \t\r\n")
		if n < 0 {
			n = min(len(text)-start, 512)
		}
		host := bytes.LastIndexByte(text[start:start+n], '@')
		if host < 0 {
			continue
		}
		from, to := start, start+host
		if colon := bytes.IndexByte(text[start:to], ':'); colon >= 0 {
			from += colon + 1
		} else if to-from < 20 || !bytes.ContainsAny(text[from:to], "0123456789") {
			continue
		}
		if value := text[from:to]; len(value) > 0 && !isPlaceholder(value) {
			cuts = append(cuts, cut{from, to})
			at = to
		}
	}
}
