package redact

import "bytes"

// MaskText removes what looks like a secret from a text that leaves the machine: members and assignments with secret
// names, headers, passwords in URLs, private keys and the tokens of common vendors. A word needs the exact shape of a
// token, because the text is also ordinary code.
func MaskText(text []byte) []byte {
	if bytes.ContainsAny(text, ":=") {
		text = maskAssignments(text)
	}
	if bytes.Contains(text, []byte("://")) {
		text = maskURLPasswords(text)
	}
	if bytes.Contains(text, []byte("PRIVATE KEY")) {
		text = maskPrivateKeys(text)
	}
	for _, s := range infixShapes {
		if bytes.Contains(text, []byte(s.infix)) {
			text = s.mask(text)
		}
	}
	return maskWords(text)
}
