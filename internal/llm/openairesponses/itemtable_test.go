package openairesponses_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/test/llmtest"
)

// object is one event of an answer, or a piece of it.
type object = map[string]any

// answer is a thought, a text and two calls of one tool, as the vendor itself sends them.
func answer() (out []object) {
	items := []object{
		{
			"type": "reasoning", "id": "rs_1", "summary": []object{{"type": "summary_text", "text": "think"}},
			"encrypted_content": "ENC",
		},
		{"type": "message", "id": "m_1", "content": []object{{"type": "output_text", "text": "ANSWER"}}},
		{
			"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "list", "arguments": `{}`, "status": "completed",
		},
		{
			"type": "function_call", "id": "fc_2", "call_id": "call_2", "name": "list", "arguments": `{"path":"."}`,
			"status": "completed",
		},
	}
	pieces := []object{
		{"type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": "think"},
		{"type": "response.output_text.delta", "content_index": 0, "delta": "ANSWER"},
		{"type": "response.function_call_arguments.delta", "delta": `{}`},
		{"type": "response.function_call_arguments.delta", "delta": `{"path":"."}`},
	}
	wholes := []object{
		{"type": "response.reasoning_summary_text.done", "summary_index": 0, "text": "think"},
		{"type": "response.output_text.done", "content_index": 0, "text": "ANSWER"},
		{"type": "response.function_call_arguments.done", "arguments": `{}`},
		{"type": "response.function_call_arguments.done", "arguments": `{"path":"."}`},
	}
	for i, it := range items {
		begun := object{"type": it["type"], "id": it["id"], "status": "in_progress"}
		if it["call_id"] != nil {
			begun["call_id"], begun["name"], begun["arguments"] = it["call_id"], it["name"], ""
		}
		out = append(
			out, object{"type": "response.output_item.added", "item": begun}, pieces[i], wholes[i],
			object{"type": "response.output_item.done", "item": it},
		)
		for _, e := range out[len(out)-4:] {
			e["output_index"] = i
			if e["item"] == nil {
				e["item_id"] = it["id"]
			}
		}
	}
	return out
}

// isWhole reports whether an event is about a whole item.
func isWhole(e object) bool { return e["item"] != nil }

func isCall(e object) bool {
	it, ok := e["item"].(object)
	return ok && it["type"] == "function_call" || strings.Contains(e["type"].(string), "function_call")
}

// TestDecodeMatches plays one answer as servers name its items, which is not as the protocol says. It comes out the
// same.
func TestDecodeMatches(t *testing.T) {
	unplaced := func(e object) { delete(e, "output_index") }
	rename := func(e object, id string) {
		if it, ok := e["item"].(object); ok {
			it["id"] = id
			return
		}
		e["item_id"] = id
	}
	unnamed := func(e object) {
		rename(e, "")
		delete(e, "item_id")
	}
	tests := map[string]func(i int, e object){
		"as it should be":            func(int, object) {},
		"no index":                   func(_ int, e object) { unplaced(e) },
		"no ids":                     func(_ int, e object) { unnamed(e) },
		"neither":                    func(_ int, e object) { unplaced(e); unnamed(e) },
		"another id with each event": func(i int, e object) { rename(e, fmt.Sprint("x", i)) },
		"one id for all":             func(_ int, e object) { rename(e, "x") },
		"one index for all":          func(_ int, e object) { e["output_index"] = 0 },
		"one index for all pieces": func(_ int, e object) {
			if !isWhole(e) {
				e["output_index"] = 0
			}
		},
		"an index on pieces only": func(_ int, e object) {
			if isWhole(e) {
				unplaced(e)
			}
		},
		"an index on texts only": func(_ int, e object) {
			if !strings.Contains(e["type"].(string), "output_text") {
				unplaced(e)
			}
		},
		"calls that are named by their calls": func(_ int, e object) {
			unplaced(e)
			if it, ok := e["item"].(object); ok && isCall(e) {
				delete(it, "id")
			} else if isCall(e) {
				e["item_id"] = strings.Replace(e["item_id"].(string), "fc_", "call_", 1)
			}
		},
	}
	for _, kind := range []string{
		"output_item.added", "output_item.done", "output_text.delta", "output_text.done", "function_call_arguments.delta",
		"function_call_arguments.done", "reasoning_summary_text.delta", "reasoning_summary_text.done",
	} {
		tests["no index on "+kind] = func(_ int, e object) {
			if e["type"] == "response."+kind {
				unplaced(e)
			}
		}
		tests["no id on "+kind] = func(_ int, e object) {
			if e["type"] == "response."+kind {
				unnamed(e)
			}
		}
	}
	want := played(t, answer())
	if strings.Count(want, "\ncall ") != 2 || strings.Contains(want, "invalid") {
		t.Fatalf("the answer itself:\n%s", want)
	}
	pieces := answer()
	whole := slices.DeleteFunc(
		slices.Clone(pieces), func(e object) bool { return e["type"] != "response.output_item.done" },
	)
	for i, e := range whole {
		whole[i] = e["item"].(object)
	}
	pieces = slices.DeleteFunc(pieces, isWhole)
	last := object{
		"type": "response.completed", "response": object{"id": "resp_1", "status": "completed", "output": whole},
	}
	if got := played(t, append(pieces, last)); strings.Count(got, "\ncall call_") != 2 ||
		strings.Contains(got, "invalid") || strings.Count(got, "ANSWER") != 1 {
		t.Errorf("items that only the last word has whole:\n%s", got)
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			events := answer()
			for i, e := range events {
				change(i, e)
			}
			if diff := cmp.Diff(want, played(t, events)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			var twice []object
			for _, e := range events {
				if twice = append(twice, e); e["type"] == "response.output_item.done" && e["item"].(object)["id"] != "" &&
					!strings.HasPrefix(name, "another id") {
					twice = append(twice, e)
				}
			}
			if diff := cmp.Diff(want, played(t, twice)); diff != "" && name != "one id for all" {
				t.Errorf("done twice (-want +got):\n%s", diff)
			}
		})
	}
}

// played returns the content that results from the events, without the ids of items, which go with the content that
// they are given to.
func played(t *testing.T, events []object) string {
	t.Helper()
	frames := []string{created}
	for _, e := range events {
		raw, err := json.Marshal(e, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, string(raw))
	}
	got := strings.Split(llmtest.Print(decode(strings.NewReader(stream(append(frames, completed)...)))), "\n")
	for i, line := range got {
		got[i], _, _ = strings.Cut(line, " openai={")
		if strings.Contains(line, "reasoningEncryptedContent") {
			got[i] += " encrypted"
		}
	}
	return strings.Join(slices.Compact(got), "\n")
}
