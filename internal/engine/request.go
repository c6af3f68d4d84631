package engine

import (
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// lastStep is what the model reads when the agent's allowance of turns is used up. It is an instruction of the system's,
// not words in the model's own mouth, as OpenCode has it (spec/v2 §10.2 T9): vendors refuse a conversation that ends in
// an answer, or go on in the middle of it, or say nothing.
const lastStep = "You have used all the steps that you were given for this request. Tools are switched off now. " +
	"Answer with text only: say what you found and changed, what is not done yet, and what should come next."

// request builds what the model is sent. The same setting gives the same request, byte for byte, so that a growing
// conversation keeps its prefix in the provider's cache.
func request(set *setting) *llm.Request {
	m := set.model
	req := &llm.Request{
		Model: m.APIName, Messages: lower(set.history.visible(set.epoch.BaselineSeq), m, set.session.Excluded...),
		Generate: m.Generate, Options: m.Options, Body: m.Body, Headers: m.Headers, Clocks: m.Clocks,
		CacheKey: cacheKey(set.session.ID), Session: string(set.session.ID), Parent: string(set.session.ParentID),
	}
	for _, text := range []string{behind(set.agent.System, m.System), set.epoch.Baseline, set.history.brought()} {
		if text != "" {
			req.System = append(req.System, text)
		}
	}
	if set.final && set.form == nil {
		req.Choice = llm.ToolChoice{Mode: llm.ChooseNone}
		req.Messages = append(req.Messages, llm.Message{Role: llm.RoleSystem, Parts: text(lastStep)})
		req.Cache = llm.TurnMarks(req)
		return req
	}
	if !set.final {
		for _, d := range set.tools().Definitions() {
			req.Tools = append(req.Tools, llm.ToolDefinition{Name: d.Name, Description: d.Description, Schema: d.Schema})
		}
		if len(set.leftOut()) == 0 {
			req.Tools = append(req.Tools, set.hosted()...)
		}
		sortTools(req.Tools)
	}
	if len(req.Tools) > 0 {
		req.Choice.Mode = llm.ChooseAuto
	}
	if set.form != nil {
		set.form.demand(req, set.final)
	}
	req.Cache = llm.TurnMarks(req)
	return req
}

// sortTools keeps the list the same from request to request.
func sortTools(tools []llm.ToolDefinition) {
	slices.SortStableFunc(tools, func(a, b llm.ToolDefinition) int { return strings.Compare(a.Name, b.Name) })
}

// likeOurs names, by what is in the names and types that vendors give to tools of theirs, the tool of ours that does the
// same: what forbids this one forbids those.
var likeOurs = map[string]string{"websearch": "websearch", "xsearch": "websearch", "googlesearch": "websearch", "webfetch": "webfetch", "urlcontext": "webfetch"}

// hosted are the tools of the model's vendor that the agent may see. They do not ask: who configured them has said yes.
func (set *setting) hosted() []llm.ToolDefinition {
	return slices.DeleteFunc(slices.Clone(set.model.Hosted), func(d llm.ToolDefinition) bool {
		if permission.Hidden(set.rights, d.Name) {
			return true
		}
		for _, word := range wordsOf(d) {
			for part, ours := range likeOurs {
				if strings.Contains(word, part) && permission.Hidden(set.rights, ours) {
					return true
				}
			}
		}
		return false
	})
}

// leftOut names the vendor's tools that the model does not take beside ours.
func (set *setting) leftOut() (names []string) {
	if !set.model.HostedExclusive || len(set.tools().Definitions()) == 0 {
		return nil
	}
	for _, d := range set.hosted() {
		names = append(names, d.Name)
	}
	return names
}

// wordsOf are the name of a vendor's tool, its type and its members, in small letters only: web_search_20250305 and
// googleSearchRetrieval say what they do with the words of their kind in it.
func wordsOf(d llm.ToolDefinition) []string {
	words := []string{d.Name}
	var said map[string]jsontext.Value
	if json.Unmarshal(d.Hosted, &said) == nil {
		var kind string
		_ = json.Unmarshal(said["type"], &kind) // it need not say one
		words = append(words, kind)
		for member := range said {
			words = append(words, member)
		}
	}
	for i, w := range words {
		words[i] = strings.Map(func(r rune) rune {
			if r = unicode.ToLower(r); !unicode.IsLower(r) {
				return -1
			}
			return r
		}, w)
	}
	return words
}

// behind puts a text behind another; either may be empty.
func behind(first, then string) string {
	if first == "" || then == "" {
		return first + then
	}
	return first + "\n\n" + then
}

// since is where what the model sees begins; calls that are taken up after a restart have no epoch yet.
func (set *setting) since() int64 {
	if set.epoch == nil {
		return 0
	}
	return set.epoch.BaselineSeq
}

// tools is the set that the agent may see, sampled once per turn: what is denied whatever the resource is not shown at
// all, and nothing to a model that calls none.
func (set *setting) tools() *tool.Set {
	if set.offered == nil {
		set.offered = set.scope.Tools.Materialize(func(action string) bool { return set.model.NoTools || permission.Hidden(set.rights, action) })
	}
	return set.offered
}

// cacheKey is the session's id, without its prefix where the rest alone fills the 64 bytes that vendors take.
func cacheKey(id session.ID) string {
	if _, tail, ok := strings.Cut(string(id), "_"); ok && len(tail) == 64 {
		return tail
	}
	return string(id)[:min(len(id), 64)]
}
