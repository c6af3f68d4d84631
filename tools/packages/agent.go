package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// agentFile describes cairn for the registry of the Agent Client Protocol, by its agent.schema.json. The version in it is
// that of no release.
const (
	agentFile    = "packaging/acp-registry/agent.json"
	agentVersion = "0.0.0"
)

// writeAgent writes the description of this version for the registry.
func (r *release) writeAgent() error {
	if !r.wants("acp") {
		return nil
	}
	b, err := os.ReadFile(filepath.FromSlash(agentFile))
	if err != nil {
		return err
	}
	text := strings.ReplaceAll(string(b), agentVersion, r.version)
	return r.writeFile(fmt.Sprintf("cairn_%s_acp-registry.json", r.version), []byte(text))
}
