package wire_test

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// TestRepairedArguments: damage with one possible repair is repaired; anything else is refused.
func TestRepairedArguments(t *testing.T) {
	for raw, want := range map[string]string{
		`{}{"filePath":"a.txt"}`:                    `{"filePath":"a.txt"}`,
		`{"filePath":"a.txt"}{}`:                    `{"filePath":"a.txt"}`,
		`{"filePath":"a.txt"}{"filePath":"a.txt"}`:  `{"filePath":"a.txt"}`,
		`{"a":1,"b":2} {"b":2,"a":1} {"a":1,"b":2}`: `{"a":1,"b":2}`,
		`{}{}`: `{}`,
		`{"file{"filePath":"a{"filePath":"a.txt"}`:               `{"filePath":"a.txt"}`,
		`{"a":{"b{"a":{"b":[1{"a":{"b":[1,2]}}`:                  `{"a":{"b":[1,2]}}`,
		`{"{"a":1}`:                                              `{"a":1}`,
		`{"filePath":"a.txt"}</tool_call>`:                       `{"filePath":"a.txt"}`,
		"{\"filePath\":\"a.txt\"}\n</arguments></tool_call>\n":   `{"filePath":"a.txt"}`,
		`{"filePath":"a.txt"}<|tool_call_end|>`:                  `{"filePath":"a.txt"}`,
		`{"filePath":"a.txt"}<｜tool▁call▁end｜>`:                  `{"filePath":"a.txt"}`,
		`{"pattern":"a","path":".","pattern":"b"}`:               `{"pattern":"b","path":"."}`,
		`"{\"a\":1,\"a\":2}"`:                                    `{"a":2}`,
		`{"a":[{"b":1,"b":{"c":2,"\u0063":3}}],"d":0}`:           `{"a":[{"b":{"c":3}}],"d":0}`,
		`{"filePath":"a.txt"}}`:                                  `{"filePath":"a.txt"}`,
		`{}{"filePath":"a.txt"}{"filePath":"a.txt"}</tool_call>`: `{"filePath":"a.txt"}`,
		`{"filePath":"a.txt"} {"filePath":"b.txt"}`:              "",
		`{"filePath":"a.txt"} and more`:                          "",
		`{"filePath":"a.tx`:                                      "",
		`{"filePath":"b{"filePath":"a.txt"}`:                     "",
		`{"a":1}[1]`:                                             "",
		`{"a":"{\"a\":1}`:                                        "",
		`x{"a":1}`:                                               "",
		`{"command":"echo {"command":"x"}`:                       "",
		`{"filePath":"a.txt"}{"filePath":`:                       "",
	} {
		input, problem := wire.ParseArguments(raw)
		if string(input) != want || (problem == "") != (want != "") {
			t.Errorf("%s: %s, %s", raw, input, problem)
		}
	}
}
