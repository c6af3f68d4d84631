package terminal_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/terminal"
)

// interpretedByTerminals are characters that a terminal obeys, or that change how text reads.
func interpretedByTerminals() (all string) {
	var b strings.Builder
	for r := rune(0); r <= 0x2069; r++ {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// On a terminal JSON has no control characters and means the same; elsewhere its bytes are unchanged.
func TestJSONOnATerminal(t *testing.T) {
	want := interpretedByTerminals() + "é 日本 \U0001f600 \u2028"
	document, err := json.Marshal(map[string]string{want: want})
	if err != nil {
		t.Fatal(err)
	}
	document = append(document, '\n')
	for size := 1; size <= len(document); size += 1 + size/8 { // in pieces that cut characters
		for _, onTerminal := range []bool{true, false} {
			var out bytes.Buffer
			s := terminal.NewTerminalStream(&out, false)
			s.Terminal = onTerminal
			if _, err := io.CopyBuffer(struct{ io.Writer }{s.JSON()}, struct{ io.Reader }{bytes.NewReader(document)},
				make([]byte, size)); err != nil {
				t.Fatal(err)
			}
			if !onTerminal && !bytes.Equal(out.Bytes(), document) {
				t.Fatalf("pieces of %d: %q, want %q", size, out.Bytes(), document)
			}
			if i := strings.IndexAny(out.String(), strings.ReplaceAll(interpretedByTerminals(), "\n", "")); onTerminal && i >= 0 {
				t.Fatalf("pieces of %d: %q has a control character at %d", size, out.String(), i)
			}
			var got map[string]string
			if err := json.Unmarshal(out.Bytes(), &got); err != nil || got[want] != want {
				t.Fatalf("pieces of %d: %v, %q", size, err, got)
			}
		}
	}
}

func ExampleStream_JSON() {
	var out bytes.Buffer
	s := terminal.NewTerminalStream(&out, false)
	fmt.Fprint(s.JSON(), "\"a\u009bb \xff\xc2\"\n")
	fmt.Println(strings.ToValidUTF8(out.String(), "?"))
	// Output: "a\u009bb ��"
}
