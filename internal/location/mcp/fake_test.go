package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// serverWord is the argument of the test program that makes it a server over stdio; the mode follows.
const serverWord = "__mcp-server"

// rawServer answers messages of the protocol by hand, so that it can do what no SDK does. A handler returns the result
// of a method; "" gives no answer, and one that begins with ! is an error.
type rawServer map[string]func(params jsontext.Value) string

type rawMessage struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
}

const echoTool = `{"name":"echo","description":"Says it again","inputSchema":{"type":"object"}}`

// newRawServer returns a server with one tool that works.
func newRawServer() rawServer {
	return rawServer{
		"initialize": func(jsontext.Value) string {
			return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},` +
				`"serverInfo":{"name":"raw","version":"1"}}`
		},
		"tools/list": func(jsontext.Value) string { return `{"tools":[` + echoTool + `]}` },
		"tools/call": func(jsontext.Value) string { return `{"content":[{"type":"text","text":"done"}]}` },
		"ping":       func(jsontext.Value) string { return `{}` },
	}
}

func silent(jsontext.Value) string { return "" }

// run serves the standard input until it ends.
func (s rawServer) run() int { return s.runWith("\n") }

func (s rawServer) runWith(end string) int {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return 0
		}
		var m rawMessage
		if json.Unmarshal(line, &m) != nil || m.ID == nil || m.Method == "" {
			continue
		}
		handle, ok := s[m.Method]
		if !ok {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}`+"\n", m.ID)
			continue
		}
		result := handle(m.Params)
		if failure, ok := strings.CutPrefix(result, "!"); ok {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":%s}`+"\n", m.ID, failure)
			continue
		}
		if result != "" {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+end, m.ID, result)
		}
	}
}

// runServer is a server over stdio in one of the modes.
func runServer(mode string, args []string) int {
	s := newRawServer()
	nested := strings.Repeat("[", 3_000_000) + strings.Repeat("]", 3_000_000)
	say := func(text string) string {
		quoted, _ := json.Marshal(text)
		return `{"content":[{"type":"text","text":` + string(quoted) + `}]}`
	}
	switch mode {
	case "good":
		if err := newGoodServer().Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			return 1
		}
		return 0
	case "exit":
		fmt.Fprintln(os.Stderr, "no licence was found")
		return 3
	case "silent":
		s["initialize"] = silent
	case "silent-list":
		s["tools/list"] = silent
	case "silent-call":
		s["tools/call"] = silent
	case "modern": // knows no initialize
		return newModernServer()
	case "strict": // ends when something comes before initialize
		s["server/discover"] = func(jsontext.Value) string { os.Exit(4); return "" }
	case "greeting":
		fmt.Print("Server is running…\n[info] listening on stdio\n\n   \n")
	case "flood-errors":
		_, _ = os.Stderr.Write(bytes.Repeat([]byte("error!\n"), 1<<20))
	case "flood":
		s["tools/call"] = func(jsontext.Value) string {
			chunk := bytes.Repeat([]byte("no message "), 1<<13)
			for range 1 << 10 {
				_, _ = os.Stdout.Write(chunk)
			}
			fmt.Println()
			return say("after the flood")
		}
	case "notices":
		for _, m := range strings.Fields("progress message tools/list_changed cancelled elicitation/complete unknown") {
			fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/%s"}`+"\n", m)
			fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/%s","params":null}`+"\n", m)
			fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/%s","params":{"data":{},"progressToken":[]}}`+"\n", m)
		}
		for i, m := range []string{"elicitation/create", "roots/list", "sampling/createMessage", "ping", "unknown"} {
			fmt.Printf(`{"jsonrpc":"2.0","id":%d,"method":"%s"}`+"\n", i, m)
			fmt.Printf(`{"jsonrpc":"2.0","id":"x%d","method":"%s","params":{"requestedSchema":[1],"mode":"form"}}`+"\n", i, m)
		}
		fmt.Println(`{"jsonrpc":"2.0","id":99,"result":{}}`)
	case "nulls":
		s["initialize"] = func(jsontext.Value) string {
			return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":null}`
		}
		s["tools/list"] = func(jsontext.Value) string { return `{"tools":[null,` + echoTool + `]}` }
		s["prompts/list"] = func(jsontext.Value) string { return `{"prompts":[null,{"name":"p","arguments":[null]}]}` }
		s["resources/list"] = func(jsontext.Value) string { return `{"resources":[null,{"uri":"a:b"}]}` }
		s["resources/templates/list"] = func(jsontext.Value) string { return `{"resourceTemplates":[null]}` }
		s["prompts/get"] = func(jsontext.Value) string { return `{"messages":[null,{"role":"user","content":null}]}` }
		s["resources/read"] = func(jsontext.Value) string { return `{"contents":[null]}` }
		s["tools/call"] = func(jsontext.Value) string { return `{"content":[null,{"type":"resource","resource":null}]}` }
	case "huge":
		s["tools/call"] = func(jsontext.Value) string { writeHuge(2 << 30); return "" }
	case "nested":
		s["tools/call"] = func(jsontext.Value) string {
			return `{"content":[],"structuredContent":{"a":` + nested + `}}`
		}
	case "nested-list":
		s["tools/list"] = func(jsontext.Value) string {
			return `{"tools":[{"name":"a","inputSchema":{"a":` + nested + `}}]}`
		}
	case "die", "die-once": // in a call; then it cannot be started again, or can
		if mode == "die" && exists(args[0]) {
			return 6
		}
		s["tools/call"] = func(jsontext.Value) string {
			if exists(args[0]) {
				return say("again")
			}
			_ = os.WriteFile(args[0], nil, 0o600)
			fmt.Fprintln(os.Stderr, "out of memory")
			os.Exit(5)
			return ""
		}
	case "lists":
		s["tools/list"] = func(jsontext.Value) string { b, _ := os.ReadFile(args[0]); return string(b) }
	case "guided": // by the instructions in a file
		s["initialize"] = func(jsontext.Value) string {
			text, _ := os.ReadFile(args[0])
			quoted, _ := json.Marshal(string(text))
			return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},` +
				`"serverInfo":{"name":"raw","version":"1"},"instructions":` + string(quoted) + `}`
		}
	case "closing": // answers calls as the SDK does when its connection ends
		s["tools/call"] = func(jsontext.Value) string {
			note(args[0])
			return "!" + `{"code":-32004,"message":"server is closing"}`
		}
	case "held": // ends, and leaves its output to a process of its own
		s["tools/call"] = func(jsontext.Value) string {
			_ = startChild()
			os.Exit(7)
			return ""
		}
	case "same-lists":
		s["tools/call"] = func(jsontext.Value) string {
			fmt.Println(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			return say("announced")
		}
		s["tools/list"] = func(jsontext.Value) string { note(args[0]); return `{"tools":[` + echoTool + `]}` }
	case "bad-names":
		s["initialize"] = func(jsontext.Value) string {
			return `{"protocolVersion":"2025-11-25","capabilities":{"prompts":{},"resources":{}},` +
				`"serverInfo":{"name":"raw","version":"1"}}`
		}
		long := strings.Repeat("x", 2000)
		s["prompts/list"] = func(jsontext.Value) string {
			return `{"prompts":[{"name":"a\u001bb"},{"name":"` + long + `"},` +
				`{"name":"c","arguments":[{"name":"` + long + `"}]},{"name":"ok"}]}`
		}
		s["resources/list"] = func(jsontext.Value) string {
			return `{"resources":[{"uri":"a:` + long + `"},{"uri":"b:\u202e"},{"uri":"c:d","mimeType":"` + long + `"}]}`
		}
	case "odd-lines": // prints its log as JSON on the standard output
		s["tools/call"] = func(jsontext.Value) string {
			lines := []string{`{"level":"info","id":3,"msg":"calling"}`, `{broken`, `{"id":[]}`, `{"jsonrpc":"2.0"}`}
			for _, line := range lines {
				fmt.Println(line)
			}
			return say("done")
		}
	case "bad-content":
		s["tools/call"] = func(jsontext.Value) string {
			return `{"content":[{"type":"text","text":"before"},{"type":"image","mimeType":"image/png","data":"!!"},` +
				`{"type":"hologram"},null,{"type":"text","text":"after"}]}`
		}
		s["prompts/get"] = func(jsontext.Value) string {
			return `{"messages":[{"role":"user","content":{"type":"smell"}},` +
				`{"role":"user","content":{"type":"text","text":"hi"}}]}`
		}
		s["resources/read"] = func(jsontext.Value) string {
			return `{"contents":[{"uri":"a:b","blob":"!!"},{"uri":"a:b","text":"readable"}]}`
		}
	case "broken-once": // its first answer is no JSON
		answers := []string{`{"content":[}`, `{"content":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`}
		s["tools/call"] = func(jsontext.Value) string {
			if len(answers) == 0 {
				return say("done")
			}
			next := answers[0]
			answers = answers[1:]
			return next
		}
	case "bad-members":
		s["initialize"] = func(jsontext.Value) string {
			return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{}},` +
				`"serverInfo":{"name":"raw","version":"1"}}`
		}
		s["tools/list"] = func(jsontext.Value) string {
			return `{"tools":[` + echoTool + `,{"name":"odd","inputSchema":{"type":"object"},` +
				`"annotations":{"readOnlyHint":"yes"}},{"name":7}]}`
		}
		s["prompts/list"] = func(jsontext.Value) string { return `{"prompts":[{"name":"p"},{"name":"q","arguments":"all"}]}` }
		s["resources/list"] = func(jsontext.Value) string {
			return `{"resources":[{"uri":"a:b","name":"r"},{"uri":"c:d","size":"large"},"text"]}`
		}
		s["resources/templates/list"] = func(jsontext.Value) string {
			return `{"resourceTemplates":[{"uriTemplate":"a:{b}"},{"uriTemplate":"c:{d}","title":[]}]}`
		}
	case "exit-call":
		s["tools/call"] = func(jsontext.Value) string {
			fmt.Fprintln(os.Stderr, "no disk")
			os.Exit(3)
			return ""
		}
	case "version":
		s["initialize"] = func(jsontext.Value) string {
			return `{"protocolVersion":"1999-01-01","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`
		}
	case "hang-once": // the first call, and all that comes after it
		s["tools/call"] = func(jsontext.Value) string {
			if exists(args[0]) {
				return say("again")
			}
			note(args[0])
			hang()
			return ""
		}
	case "no-line": // does not end its lines
		s["tools/call"] = func(jsontext.Value) string { return say("done") }
		return s.runWith("")
	case "environment":
		s["tools/call"] = func(jsontext.Value) string { return say(strings.Join(os.Environ(), "\n")) }
	case "children":
		s["tools/call"] = func(jsontext.Value) string { return say(fmt.Sprint(startChild())) }
	case "linger":
		_, _ = io.Copy(io.Discard, os.Stdin)
		hang()
	}
	return s.run()
}

// hang does not return. It waits for a signal, so that Go reports no deadlock.
func hang() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	<-stop
}

// note adds a byte to a file.
func note(path string) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, _ = f.WriteString(".")
		_ = f.Close()
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// writeHuge writes a result with a text of so many bytes, and never ends the line.
func writeHuge(size int) {
	fmt.Print(`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"`)
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	for range size / len(chunk) {
		if _, err := os.Stdout.Write(chunk); err != nil {
			os.Exit(0)
		}
	}
}

// newModernServer serves the protocol of 2026-07-28 only.
func newModernServer() int {
	s := newRawServer()
	delete(s, "initialize")
	s["server/discover"] = func(jsontext.Value) string {
		return `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`
	}
	return s.run()
}
