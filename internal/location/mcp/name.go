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

// maxToolName is the most that OpenAI and Gemini accept.
const maxToolName = 64

// toolName returns the name of a server's tool: server_tool. A name that is too long ends with a hash of the whole; one
// that begins with another character than a letter gets a prefix, which Gemini needs.
func toolName(server, tool string) string {
	name := cleanName(server) + "_" + cleanName(tool)
	if c := name[0] | 0x20; c < 'a' || c > 'z' {
		name = "mcp_" + strings.TrimLeft(name, "_")
	}
	if len(name) > maxToolName {
		sum := sha256.Sum256([]byte(name))
		name = name[:maxToolName-9] + "_" + hex.EncodeToString(sum[:4])
	}
	return name
}
