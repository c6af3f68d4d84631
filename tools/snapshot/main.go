// Command snapshot writes the facts about models that come with cairn: internal/models/catalog/snapshot.json, one line per
// model, and snapshot_date.txt. Run it in the root of the repository:
//
//	go run -C tools ./snapshot [api.json [DATE]]
//
// Without arguments it fetches the list of models.dev. With a file, DATE (2006-01-02) is when the list was fetched; it
// defaults to the file's modification time. Only facts are taken: names, limits, prices and abilities, no descriptions.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	source    = "https://models.dev/api.json"
	directory = "../internal/models/catalog"
)

// providerIDs are the providers of the snapshot: those of cairn's table of vendors, and those that many people use.
var providerIDs = []string{
	"alibaba", "amazon-bedrock", "anthropic", "azure", "azure-cognitive-services", "baseten", "cerebras",
	"cloudflare-ai-gateway", "cloudflare-workers-ai", "deepinfra", "deepseek", "fireworks-ai", "github-copilot",
	"github-models", "google", "google-vertex", "google-vertex-anthropic", "groq", "huggingface",
	"kimi-code-plan-global", "lmstudio", "minimax", "minimax-coding-plan", "mistral", "moonshotai", "moonshotai-cn",
	"nvidia", "ollama", "openai", "opencode", "openrouter", "perplexity", "togetherai", "vercel", "xai", "zai",
	"zai-coding-plan", "zhipuai",
}

// The members that are taken, in the order in which they are written.
var (
	providerMembers = []string{"id", "name", "env", "npm", "api"}
	modelMembers    = []string{
		"id", "name", "family", "attachment", "reasoning", "reasoning_options", "temperature", "tool_call",
		"structured_output", "interleaved", "release_date", "modalities", "cost", "limit",
		"status", "provider",
	}
)

type object = map[string]json.RawMessage

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "snapshot:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	raw, date, err := readList(args)
	if err != nil {
		return err
	}
	var list, before map[string]object
	if err := json.Unmarshal(raw, &list); err != nil {
		return fmt.Errorf("the list is invalid: %w", err)
	}
	old, err := os.ReadFile(filepath.Join(directory, "snapshot.json"))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(old, &before); err != nil {
		return err
	}
	var out bytes.Buffer
	out.WriteString("{")
	models := 0
	for i, id := range providerIDs {
		p := list[id]
		if p == nil {
			p = before[id] // models.dev does not list it
		}
		if p == nil {
			return fmt.Errorf("the list has no provider %q", id)
		}
		n, err := writeProvider(&out, i > 0, id, p)
		if err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		models += n
	}
	out.WriteString("\n}\n")
	if err := os.WriteFile(filepath.Join(directory, "snapshot.json"), out.Bytes(), 0o644); err != nil {
		return err
	}
	fmt.Printf("snapshot: %d providers, %d models, %d bytes, of %s\n", len(providerIDs), models, out.Len(), date)
	return os.WriteFile(filepath.Join(directory, "snapshot_date.txt"), []byte(date+"\n"), 0o644)
}

// readList returns the list and its date.
func readList(args []string) (raw []byte, date string, err error) {
	if len(args) == 0 {
		raw, err = fetchList()
		return raw, time.Now().UTC().Format(time.DateOnly), err
	}
	info, err := os.Stat(args[0])
	if err != nil {
		return nil, "", err
	}
	at := info.ModTime().UTC()
	if len(args) > 1 {
		if at, err = time.Parse(time.DateOnly, args[1]); err != nil {
			return nil, "", err
		}
	}
	raw, err = os.ReadFile(args[0])
	return raw, at.Format(time.DateOnly), err
}

func fetchList() ([]byte, error) {
	resp, err := (&http.Client{Timeout: time.Minute}).Get(source)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New(resp.Status)
	}
	return io.ReadAll(resp.Body)
}

// writeProvider writes a provider with those of its models that can hold a conversation, and returns their number.
func writeProvider(out *bytes.Buffer, more bool, id string, p object) (int, error) {
	var models map[string]object
	if err := json.Unmarshal(p["models"], &models); err != nil {
		return 0, err
	}
	hasTools := false
	for _, m := range models {
		hasTools = hasTools || string(m["tool_call"]) == "true"
	}
	if more {
		out.WriteString(",")
	}
	fmt.Fprintf(out, "\n %q: {\n", id)
	for _, name := range providerMembers {
		if p[name] != nil {
			fmt.Fprintf(out, "  %q: %s,\n", name, p[name])
		}
	}
	out.WriteString("  \"models\": {")
	n := 0
	for _, key := range sortedKeys(models) {
		m := models[key]
		if !isUseful(m) || hasTools && string(m["tool_call"]) != "true" {
			continue
		}
		if n++; n > 1 {
			out.WriteString(",")
		}
		fmt.Fprintf(out, "\n   %s: {", quote(key))
		first := true
		for _, name := range modelMembers {
			if m[name] == nil || isDefault(key, name, string(m[name])) {
				continue
			}
			if !first {
				out.WriteString(",")
			}
			first = false
			fmt.Fprintf(out, "%q:", name)
			if err := json.Compact(out, m[name]); err != nil {
				return 0, err
			}
		}
		out.WriteString("}")
	}
	out.WriteString("\n  }\n }")
	return n, nil
}

// isDefault reports whether a model without this member has the same value.
func isDefault(key, name, value string) bool {
	switch name {
	case "id", "name":
		return value == quote(key)
	case "attachment", "reasoning", "temperature":
		return value == "false"
	default:
		return false
	}
}

// The sizes in tokens below which a model is of no use to an agent.
const minContext, minOutput = 4096, 1024

// isUseful reports whether a model is current and writes text from text.
func isUseful(m object) bool {
	var f struct {
		Status     string
		Modalities struct{ Input, Output []string }
		Limit      struct{ Context, Output int64 }
	}
	raw, err := json.Marshal(m)
	return err == nil && json.Unmarshal(raw, &f) == nil && f.Status != "deprecated" && f.Status != "alpha" &&
		slices.Contains(f.Modalities.Input, "text") && slices.Contains(f.Modalities.Output, "text") &&
		f.Limit.Context >= minContext && f.Limit.Output >= minOutput
}

func sortedKeys(m map[string]object) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func quote(s string) string {
	raw, _ := json.Marshal(s)
	return string(raw)
}
