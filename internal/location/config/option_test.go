package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Options of an agent are checked for the vendor of its model; options that the vendor does not know are reported.
func TestAgentOptions(t *testing.T) {
	p := newPlace(t, map[string]string{userFile: `{"model": "openai/gpt-5",
  "provider": {"mine": {"npm": "@ai-sdk/openai-compatible", "options": {"thinkingConfig": {}}, "models": {"m": {"options": {"include": []}}, "c": {"provider": {"npm": "@ai-sdk/anthropic"}}}}},
  "agent": {
    "a": {"reasoningEffort": "ultra", "options": {"thinkingConfig": {}}},
    "b": {"model": "mine/m", "reasoningEffort": "ultra"},
    "c": {"model": "mine/c", "reasoningEffort": "ultra"}}}`})
	var got []string
	for _, w := range p.mustLoad().Warnings {
		got = append(got, string(w.Kind)+" "+w.Key)
	}
	want := []string{
		"unused provider.mine.options.thinkingConfig", "unused provider.mine.models.m.options.include",
		"unsent agent.a.reasoningEffort", "unsent agent.c.reasoningEffort",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// An option with an invalid value is reported once with its position and the accepted values; unknown options are
// passed on.
func TestInvalidOptions(t *testing.T) {
	p := newPlace(t, map[string]string{userFile: `{
  "provider": {
    "openai": {"options": {
      "store": "maybe", "maxOutputTokens": -5,
      "serviceTier": ["a"],
      "reasoningEffort": "ultra",
      "topP": 7, "stream": false, "min_p": 0.1, "textVerbosity": "{env:SECRET}"},
      "models": {
        "gpt-5": {"options": {"model": "other", "apiKey": "k", "reasoning_effort": "low"}, "variants": {"v": {"store": 1, "headers": {"a": "b"}, "disabled": false}}},
        "gpt-6": {}}},
    "anthropic": {"models": {"c": {"options": {"thinking": {"type": "enabled", "budgetTokens": "many"}}}}},
    "mine": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "http://127.0.0.1:1", "reasoningEffort": "ultra", "region": "r", "messages": null}},
    "azure": {"options": {
      "baseURL": "https://a.example", "apiVersion": 1, "resourceName": "r",
      "useDeploymentBasedUrls": "yes", "useCompletionUrls": true, "fetch": "f"}}
  },
  "agent": {"build": {"temperature": 3, "options": {"seed": "x", "own": 1}, "frequencyPenalty": 9, "request": {"body": {"tools": []}}}}
}`})
	p.env["SECRET"] = "canary"
	p.env["CAIRN_CONFIG_CONTENT"] = `{"provider": {"openai": {"options": {"store": 1}}}}`
	var got []string
	for _, w := range p.mustLoad().Warnings {
		got = append(got, string(w.Kind)+" "+strings.TrimPrefix(p.short(w.String()), userFile+":"))
	}
	want := []string{
		`unsent CAIRN_CONFIG_CONTENT:1:47: provider.openai.options.store is not sent: want true or false, got 1`,
		`unsent 4:44: provider.openai.options.maxOutputTokens is not sent: want a whole number, 1 or more, got -5`,
		`unsent 5:22: provider.openai.options.serviceTier is not sent: want "auto", "default", "flex", "scale" or ` +
			`"priority", got a list`,
		`unsent 6:26: provider.openai.options.reasoningEffort is not sent: want "none", "minimal", "low", "medium", ` +
			`"high", "xhigh" or "max", got "ultra"`,
		`unsent 7:15: provider.openai.options.topP is not sent: want a number from 0 to 1, got 7`,
		`unsent 7:28: provider.openai.options.stream is not sent: cairn sets it itself`,
		`unsent 7:66: provider.openai.options.textVerbosity is not sent: want "low", "medium" or "high", got "{env:SECRET}"`,
		`unsent 9:40: provider.openai.models.gpt-5.options.model is not sent: cairn sets it itself`,
		`unused 9:59: provider.openai.models.gpt-5.options.apiKey has no effect here: it belongs to the options of the ` +
			`provider itself`,
		`unsent 9:120: provider.openai.models.gpt-5.variants.v.store is not sent: want true or false, got 1`,
		`unsent 11:96: provider.anthropic.models.c.options.thinking.budgetTokens is not sent: want a whole number, 1 or ` +
			`more, got "many"`,
		`unused 12:133: provider.mine.options.region has no effect: only providers with @ai-sdk/amazon-bedrock read it`,
		`unsent 14:53: provider.azure.options.apiVersion has no effect: want a string, got 1`,
		`unused 14:72: provider.azure.options.resourceName has no effect: baseURL already contains the complete address`,
		`unsent 15:33: provider.azure.options.useDeploymentBasedUrls has no effect: want true or false, got "yes"`,
		`unused 15:76: provider.azure.options.fetch has no effect: its value is a program, which a configuration cannot ` +
			`contain`,
		`unsent 17:38: agent.build.temperature is not sent: want a number from 0 to 2, got 3`,
		`unsent 17:97: agent.build.frequencyPenalty is not sent: want a number from -2 to 2, got 9`,
		`unsent 17:61: agent.build.options.seed is not sent: want a whole number, got "x"`,
		`unsent 17:130: agent.build.request.body.tools is not sent: cairn sets it itself`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
