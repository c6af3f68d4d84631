package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"sync"
)

var notName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9_-]`) })

// cleanName replaces what names of tools may not have, as OpenCode does.
func cleanName(name string) string { return notName().ReplaceAllString(name, "_") }

// maxToolName is the most that OpenAI and Gemini accept; maxPrefix is the part of it for the server.
const (
	maxToolName = 64
	maxPrefix   = 32
)

// toolPrefix returns what the names of all tools of a server begin with. A long name ends with a hash of the whole; one
// that begins with another character than a letter gets a prefix, which Gemini needs.
func toolPrefix(server string) string {
	prefix := shortenName(cleanName(server), server, maxPrefix)
	if prefix == "" || !isLetter(prefix[0]) {
		prefix = "mcp_" + strings.TrimLeft(prefix, "_")
	}
	return prefix + "_"
}

func isLetter(c byte) bool { c |= 0x20; return 'a' <= c && c <= 'z' }

// toolName returns the name of a server's tool: server_tool. It always begins with toolPrefix, which permission rules
// name.
func toolName(server, tool string) string {
	name := toolPrefix(server) + cleanName(tool)
	return shortenName(name, server+"\x00"+tool, maxToolName)
}

// shortenName returns a name, or its beginning and a hash of what it stands for if it is longer than most.
func shortenName(name, whole string, most int) string {
	if len(name) <= most {
		return name
	}
	sum := sha256.Sum256([]byte(whole))
	return name[:most-9] + "_" + hex.EncodeToString(sum[:4])
}
