package opencodev1

import (
	"fmt"
	"maps"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
)

// addDefaults adds the members that versions before 1.18 do not write.
func (b *Builder) addDefaults(info foreign.Object, parts []part) foreign.Object {
	defaults := foreign.Object{"time": jsontext.Value(`{"created":0}`), "agent": foreign.Quote("build")}
	if info.Has("mode") {
		defaults["agent"] = info["mode"]
	}
	switch info.Text("role") {
	case "user":
		b.prompt = session.MessageID(info.Text("id"))
		defaults["model"] = jsontext.Value(`{"providerID":"","modelID":""}`)
	case "assistant":
		unknown := foreign.Quote("unknown")
		maps.Copy(defaults, foreign.Object{
			"parentID": foreign.Quote(string(b.prompt)), "modelID": unknown, "providerID": unknown,
			"mode": defaults["agent"], "path": jsontext.Value(`{"cwd":"","root":""}`), "cost": jsontext.Value("0"),
			"tokens": jsontext.Value(`{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}`),
		})
		if info.Object("time").Has("completed") && !info.Has("error") {
			defaults["finish"] = foreign.Quote(findFinish(parts))
		}
	}
	out := maps.Clone(info)
	for name, v := range defaults {
		if !out.Has(name) {
			out[name] = v
		}
	}
	// Older versions name the directory of each turn only.
	b.Directory(out.Object("path").Text("cwd"))
	return out
}

// findFinish returns why a turn ended that does not say so itself.
func findFinish(parts []part) string {
	finish := "stop"
	for _, p := range parts {
		switch p.value.Text("type") {
		case "step-finish":
			if reason := p.value.Text("reason"); reason != "" {
				return reason
			}
		case "tool":
			finish = "tool-calls"
		}
	}
	return finish
}

// upgradeInline converts a message of OpenCode 0.1 and 0.2, which holds its parts, and in metadata all that later
// versions hold in its members.
func upgradeInline(old foreign.Object, sessionID, row string) (foreign.Object, []part) {
	meta, turn := old.Object("metadata"), old.Object("metadata").Object("assistant")
	info := foreign.Object{
		"id": old["id"], "sessionID": old["sessionID"], "role": old["role"], "time": meta.Object("time").Value(),
	}
	for _, name := range []string{"modelID", "providerID", "path", "cost", "tokens"} {
		if turn.Has(name) {
			info[name] = turn[name]
		}
	}
	if meta.Has("error") {
		info["error"] = meta["error"]
	}
	// Parts have no ids there: they are named by their position.
	ids := foreign.NewIDs(foreign.OpenCode, sessionID)
	created := meta.Object("time").Int("created")
	var parts []part
	for i, p := range old.Objects("parts") {
		v := upgradePart(p, meta)
		if v == nil {
			continue
		}
		v["id"] = foreign.Quote(string(ids.Part(old.Text("id"), i, created)))
		v["sessionID"], v["messageID"] = old["sessionID"], old["id"]
		parts = append(parts, part{fmt.Sprintf("%s part %d", row, i+1), v})
	}
	return info, parts
}

// upgradePart converts a part of an inline message, nil for one without content, such as a link to a source.
func upgradePart(p, meta foreign.Object) foreign.Object {
	switch p.Text("type") {
	case "text", "step-start":
		return maps.Clone(p)
	case "reasoning":
		return p.With("time", meta.Object("time").Rename("created", "start", "completed", "end").Value())
	case "file":
		return p.Rename("mediaType", "mime")
	case "tool-invocation":
		return upgradeCall(p.Object("toolInvocation"), meta)
	}
	return nil
}

// upgradeCall converts a call. What is known of it beyond its arguments and its result is in the metadata of the
// message, by the id of the call.
func upgradeCall(call, meta foreign.Object) foreign.Object {
	about := maps.Clone(meta.Object("tool").Object(call.Text("toolCallId")))
	state := foreign.Object{
		"input": call.Object("args").Value(), "time": meta.Object("time").Rename("created", "start").Value(),
	}
	if about.Has("time") {
		state["time"] = about["time"]
	}
	if about.Has("title") {
		state["title"] = about["title"]
	}
	isError := about.Bool("error")
	delete(about, "time")
	delete(about, "title")
	state["metadata"] = about.Value()
	output := call.Text("result")
	if output == "" && call.Has("result") && call["result"].Kind() != '"' {
		output = string(call["result"])
	}
	switch {
	case call.Text("state") != "result":
		state["status"] = foreign.Quote("running")
	case isError:
		state["status"], state["error"] = foreign.Quote("error"), foreign.Quote(output)
	default:
		state["status"], state["output"] = foreign.Quote("completed"), foreign.Quote(output)
	}
	return foreign.Object{
		"type": foreign.Quote("tool"), "callID": foreign.Quote(call.Text("toolCallId")),
		"tool": foreign.Quote(call.Text("toolName")), "state": state.Value(),
	}
}
