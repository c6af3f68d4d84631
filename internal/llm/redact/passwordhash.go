package redact

import "bytes"

// passwordHashes are the beginnings of hashes of passwords, as in /etc/shadow and .htpasswd.
var passwordHashes = []string{
	"$1$", "$5$", "$6$", "$7$", "$y$", "$gy$", "$apr1$", "$2a$", "$2b$", "$2y$", "$argon2d$", "$argon2i$", "$argon2id$",
}

// findPasswordHash finds a hash of a password: its parameters and salt, a dollar sign, and at least 20 characters.
func findPasswordHash(text []byte, start, next int) (cut, bool) {
	end := next + runLength(text[next:], "./$=,+-")
	hash := text[next:end]
	salt := bytes.LastIndexByte(hash, '$')
	return cut{start, end}, salt > 0 && len(hash)-salt > 20 && hasDigit(hash)
}
