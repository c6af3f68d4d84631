package host

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/anthropic"
	"github.com/cairn-dev/cairn/internal/llm/bedrock"
	"github.com/cairn-dev/cairn/internal/llm/gemini"
	"github.com/cairn-dev/cairn/internal/llm/openaichat"
	"github.com/cairn-dev/cairn/internal/llm/openairesponses"
	"github.com/cairn-dev/cairn/internal/llm/option"
	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/models/catalog"
)

var updateOptions = flag.Bool("update", false, "write testdata/options.txt anew")

// TestOptionsOfConfigurations holds every object of options in testdata/options.txt, as people have written them for
// the AI SDK and for vendors, to the three domains that it is sorted into and to what each protocol
// makes of them.
func TestOptionsOfConfigurations(t *testing.T) {
	file := filepath.Join("testdata", "options.txt")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	objects := 0
	for line := range strings.Lines(string(raw)) {
		if !strings.HasPrefix(line, "> ") {
			if strings.HasPrefix(line, "#") {
				got.WriteString(line)
			}
			continue
		}
		objects++
		got.WriteString("\n" + line + sorted(t, strings.TrimSpace(line[2:])))
	}
	if objects < 60 {
		t.Errorf("%d objects", objects)
	}
	if *updateOptions {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(string(raw), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// sorted says what becomes of one object of options.
func sorted(t *testing.T, object string) string {
	t.Helper()
	var options map[string]jsontext.Value
	if err := json.Unmarshal([]byte(object), &options); err != nil {
		t.Fatalf("%s: %v", object, err)
	}
	o := catalog.Partition(option.Vendor{}, options)
	var out strings.Builder
	for _, domain := range []struct {
		name  string
		value any
	}{{"generate", o.Generate}, {"semantic", o.Semantic}, {"body", o.Body}} {
		if text := members(t, domain.value); text != "{}" {
			fmt.Fprintf(&out, "%-9s %s\n", domain.name, text)
		}
	}
	for _, why := range o.Dropped {
		fmt.Fprintf(&out, "%-9s %s\n", "dropped", why)
	}
	router, _ := provider.Find("openrouter")
	for _, p := range []struct {
		name     string
		protocol provider.Protocol
	}{
		{"chat", openaichat.Dialect{TopK: true, Thinking: true}},
		{"router", router.Dialect},
		{"responses", openairesponses.Dialect{}},
		{"messages", anthropic.NewDialect("claude-sonnet-4-5", true)},
		{"gemini", gemini.Dialect{}},
		{"converse", bedrock.NewDialect("anthropic.claude-sonnet-4-5", true)},
	} {
		text := difference(t, p.protocol, &llm.Request{Model: "m", Generate: o.Generate, Options: o.Semantic, Body: o.Body})
		if text != "{}" {
			fmt.Fprintf(&out, "%-9s %s\n", p.name, text)
		}
	}
	return out.String()
}

// difference returns the part of a request's body that its options add, or the reason why it cannot be made.
func difference(t *testing.T, p provider.Protocol, req *llm.Request) string {
	t.Helper()
	body, err := p.Encode(req)
	if err != nil {
		return "error: " + err.Error()
	}
	plain, err := p.Encode(&llm.Request{Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	var with, without map[string]jsontext.Value
	if err := json.Unmarshal(body, &with); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(plain, &without); err != nil {
		t.Fatal(err)
	}
	for name, v := range without {
		if string(with[name]) == string(v) {
			delete(with, name)
		}
	}
	return members(t, with)
}

// members is a value as canonical JSON, without what is not set.
func members(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v, json.Deterministic(true), json.OmitZeroStructFields(true))
	if err != nil {
		t.Fatal(err)
	}
	out := jsontext.Value(raw)
	if err := out.Canonicalize(); err != nil {
		t.Fatal(err)
	}
	return string(out)
}
