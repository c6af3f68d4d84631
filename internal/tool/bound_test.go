package tool_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// settled returns an output after settlement.
func settled(t *testing.T, c tool.Config, out tool.Output) tool.Output {
	t.Helper()
	r := tool.NewRegistry(c)
	register(t, r, fake{def: tool.Definition{
		Name: "demo", Schema: jsontext.Value(`{}`),
	}, run: func(context.Context, tool.Call) (tool.Output, error) {
		return out, nil
	}})
	s := settle(t, r.TakeSnapshot(nil), "demo", `{}`)
	if s.Error != nil {
		t.Fatal(s.Error.Message)
	}
	return s.Output
}

func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func contentText(out tool.Output) string {
	var b strings.Builder
	for _, c := range out.Content {
		b.WriteString(c.Text)
	}
	return b.String()
}

func TestBound(t *testing.T) {
	for _, c := range []struct {
		name    string
		limits  tool.Limits
		content []session.ToolContent
		cut     bool
		has     []string
		file    string // content of the managed file; "" for the text itself
	}{
		{name: "2000 lines", content: session.TextContent(lines(2000))},
		{
			name: "2001 lines", content: session.TextContent(lines(2001)), cut: true,
			has: []string{"line 1\n", "line 998\n", "line 2001", "line 1004\n", "2001 lines"},
		},
		{name: "51200 bytes", content: session.TextContent(strings.Repeat("x", 51200))},
		{
			name: "51201 bytes", content: session.TextContent(strings.Repeat("x", 51201)), cut: true,
			has: []string{"51201 bytes"},
		},
		{name: "four-byte runes", content: session.TextContent(strings.Repeat("😀", 20000)), cut: true},
		{name: "carriage returns", content: session.TextContent(strings.Repeat("a\r\n", 1999) + "b")},
		{
			name: "one long line", content: session.TextContent("start" + strings.Repeat("y", 200000) + "end"), cut: true,
			has: []string{"start", "end"},
		},
		{
			name: "two parts", content: append(session.TextContent(lines(1500)), session.TextContent(lines(600))...), cut: true,
			file: lines(1500) + lines(600),
		},
		{name: "limit of 3 lines", limits: tool.Limits{Lines: 3}, content: session.TextContent(lines(4)), cut: true},
		{name: "limit of 10 bytes", limits: tool.Limits{Bytes: 10}, content: session.TextContent(lines(4)), cut: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			out := settled(t, tool.Config{Outputs: &tool.Outputs{Dir: dir}, Limits: c.limits}, tool.Output{Content: c.content})
			whole := contentText(tool.Output{Content: c.content})
			got := contentText(out)
			if !c.cut {
				if got != whole || len(out.OutputPaths) != 0 {
					t.Fatalf("changed: %d of %d bytes, paths %v", len(got), len(whole), out.OutputPaths)
				}
				return
			}
			if len(out.OutputPaths) != 1 || !strings.Contains(got, out.OutputPaths[0]) || !utf8.ValidString(got) {
				t.Fatalf("paths %v, text %.300q", out.OutputPaths, got)
			}
			if c.limits == (tool.Limits{}) && (len(got) > tool.MaxBytes || strings.Count(got, "\n")+1 > tool.MaxLines) {
				t.Fatalf("%d bytes, %d lines", len(got), strings.Count(got, "\n")+1)
			}
			for _, want := range c.has {
				if !strings.Contains(got, want) {
					t.Errorf("%q is missing", want)
				}
			}
			want := c.file
			if want == "" {
				want = whole
			}
			checkFile(t, out.OutputPaths[0], want)
		})
	}
}

func checkFile(t *testing.T, path, want string) {
	t.Helper()
	kept, err := os.ReadFile(path)
	if err != nil || string(kept) != want {
		t.Fatalf("file: %v, %d bytes, want %d", err, len(kept), len(want))
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
	parent, err := os.Stat(filepath.Dir(path))
	if err != nil || parent.Mode().Perm() != 0o700 {
		t.Fatalf("folder mode %v, %v", parent.Mode(), err)
	}
}

func TestBoundStructuredOnly(t *testing.T) {
	var items []string
	for i := range 3000 {
		items = append(items, fmt.Sprintf("%q", fmt.Sprint("item ", i)))
	}
	raw := jsontext.Value(`{"items":[` + strings.Join(items, ",") + `]}`)
	out := settled(t, tool.Config{Outputs: &tool.Outputs{Dir: t.TempDir()}}, tool.Output{Structured: raw})
	if string(out.Structured) != string(raw) || len(out.OutputPaths) != 1 ||
		!strings.Contains(contentText(out), `    "item 1"`) {
		t.Fatalf("%.300s %v", contentText(out), out.OutputPaths)
	}
	small := settled(t, tool.Config{}, tool.Output{Structured: jsontext.Value(`{"a":1}`)})
	if len(small.Content) != 0 || string(small.Structured) != `{"a":1}` {
		t.Fatalf("%+v", small)
	}
	for size, kept := range map[int]bool{1 << 20: true, 5 << 20: false} {
		value := jsontext.Value(`"` + strings.Repeat("z", size) + `"`)
		huge := settled(
			t, tool.Config{Outputs: &tool.Outputs{Dir: t.TempDir()}},
			tool.Output{Content: session.TextContent("x"), Structured: value},
		)
		if kept {
			if string(huge.Structured) != string(value) || contentText(huge) != "x" {
				t.Errorf("%d bytes: %.100s %q", size, huge.Structured, contentText(huge))
			}
			continue
		}
		if string(huge.Structured) != fmt.Sprintf(`{"truncated":true,"bytes":%d}`, size+2) || len(huge.OutputPaths) != 1 ||
			!strings.Contains(contentText(huge), huge.OutputPaths[0]) {
			t.Fatalf("%d bytes: %.100s %q", size, huge.Structured, contentText(huge))
		}
		if stored, err := os.ReadFile(huge.OutputPaths[0]); err != nil || string(stored) != string(value) {
			t.Errorf("the file has %d bytes, %v", len(stored), err)
		}
	}
}

func TestBoundKeepsMedia(t *testing.T) {
	uri := "data:image/png;base64," + strings.Repeat("A", 100000)
	file := session.ToolContent{Type: "file", URI: uri, Mime: "image/png"}
	out := settled(
		t, tool.Config{}, tool.Output{Content: []session.ToolContent{file, {Type: "text", Text: strings.Repeat("x", 60000)}}},
	)
	if len(out.Content) != 2 || out.Content[1].URI != uri {
		t.Fatalf("%d parts", len(out.Content))
	}
}

func TestBoundSanitises(t *testing.T) {
	out := settled(t, tool.Config{}, tool.Output{
		Title: "two\nlines\x00 " + strings.Repeat("é", 200), Content: session.TextContent("a\x00b\xffc"),
		Structured: jsontext.Value(`{"broken"`),
	})
	if contentText(out) != "a\uFFFDb\uFFFDc" || strings.ContainsAny(out.Title, "\n\x00") || len(out.Title) > 210 ||
		out.Structured != nil {
		t.Fatalf("%+v", out)
	}
}

// A tool that bounds its text itself is cut at twice the limits.
func TestBoundedToolIsCutAtTwiceTheLimits(t *testing.T) {
	for _, tt := range []struct {
		lines   int
		bounded bool
		cut     bool
	}{{2000, false, false}, {2001, false, true}, {4000, true, false}, {4001, true, true}} {
		said := strings.TrimSuffix(lines(tt.lines), "\n")
		r := tool.NewRegistry(tool.Config{Limits: tool.Limits{Bytes: 1 << 20}})
		register(t, r, fake{def: tool.Definition{
			Name: "demo", Schema: jsontext.Value(`{}`), Bounded: tt.bounded,
		}, run: func(context.Context, tool.Call) (tool.Output, error) {
			return text(said), nil
		}})
		if got := says(settle(t, r.TakeSnapshot(nil), "demo", `{}`)); (got != said) != tt.cut {
			t.Errorf("%d lines, bounded %v: cut %v", tt.lines, tt.bounded, got != said)
		}
	}
}

// The slice that a tool returns is not changed.
func TestBoundChangesACopy(t *testing.T) {
	own := tool.Output{Content: session.TextContent("a\x00b")}
	settled(t, tool.Config{}, own)
	if own.Content[0].Text != "a\x00b" {
		t.Errorf("the tool's content became %q", own.Content[0].Text)
	}
}

// Output that cannot be stored is shown with a note.
func TestBoundWithoutStorage(t *testing.T) {
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, outputs := range map[string]*tool.Outputs{"none": nil, "not a folder": {Dir: filepath.Join(blocked, "x")}} {
		out := settled(
			t, tool.Config{Outputs: outputs},
			tool.Output{Content: session.TextContent(lines(3000)), OutputPaths: []string{"/own"}},
		)
		got := contentText(out)
		if !strings.Contains(got, "could not be kept") || len(out.OutputPaths) != 1 || !strings.Contains(got, "line 3000") {
			t.Fatalf("%s: %v", name, out.OutputPaths)
		}
	}
}

func TestCaptureInPieces(t *testing.T) {
	whole := strings.Repeat("häß€😀\x00\xff\n", 9000)
	want := tool.NewCapture(&tool.Outputs{Dir: t.TempDir()}, tool.Limits{}, nil)
	_, _ = want.Write([]byte(whole))
	a := want.Finish(t.Context())
	for _, step := range []int{1, 3, 7, 4096} {
		c := tool.NewCapture(&tool.Outputs{Dir: t.TempDir()}, tool.Limits{}, nil)
		for i := 0; i < len(whole); i += step {
			_, _ = c.Write([]byte(whole[i:min(i+step, len(whole))]))
		}
		b := c.Finish(t.Context())
		fileA, _ := os.ReadFile(a.Path)
		fileB, _ := os.ReadFile(b.Path)
		if a.Bytes != b.Bytes || a.Lines != b.Lines || string(fileA) != string(fileB) || len(fileA) == 0 ||
			strings.ReplaceAll(a.Text, a.Path, "") != strings.ReplaceAll(b.Text, b.Path, "") {
			t.Fatalf("step %d differs: %d %d, %d %d", step, a.Bytes, b.Bytes, len(fileA), len(fileB))
		}
	}
}

// block is 64 KiB of lines.
var block = []byte(strings.Repeat("0123456789abcde\n", 4096))

// filled captures blocks and an end.
func filled(t *testing.T, o *tool.Outputs, blocks int) (done tool.CaptureResult, kept string) {
	t.Helper()
	o.Dir = t.TempDir()
	c := tool.NewCapture(o, tool.Limits{}, nil)
	for range blocks {
		_, _ = c.Write(block)
	}
	_, _ = c.Write([]byte("the very end"))
	done = c.Finish(t.Context())
	raw, err := os.ReadFile(done.Path)
	if err != nil || !strings.HasSuffix(string(raw), "the very end") || !strings.HasSuffix(done.Text, "the very end") {
		t.Fatalf("%.200q %v", done.Text, err)
	}
	return done, string(raw)
}

func TestCaptureKeepsAll(t *testing.T) {
	done, kept := filled(t, &tool.Outputs{}, 1100)
	if int64(len(kept)) != done.Bytes || strings.Count(kept, string(block)) != 1100 ||
		!strings.Contains(done.Text, "All of it is in "+done.Path) {
		t.Fatalf("%d of %d bytes, %.200q", len(kept), done.Bytes, done.Text)
	}
}

func TestCaptureCapsTheFile(t *testing.T) {
	const most = 20 << 20
	done, kept := filled(t, &tool.Outputs{File: most}, 1100)
	if len(kept) > most || len(kept) < most-4096 ||
		!strings.Contains(
			kept, "bytes were not kept here: a file of output holds at most 20971520 bytes, see limits.output",
		) ||
		!strings.Contains(done.Text, "beginning and end are in") || !strings.Contains(done.Text, "limits.output") {
		t.Fatalf("%d bytes, %.200q", len(kept), done.Text)
	}
}

// Output does not use the reserved space of the disk.
func TestCaptureLeavesRoomOnTheDisk(t *testing.T) {
	done, kept := filled(t, &tool.Outputs{Reserve: 1 << 60}, 1100)
	if len(kept) > 5<<18 || len(kept) < 1<<20 || !strings.Contains(kept, "too little space") ||
		!strings.Contains(done.Text, "too little space") {
		t.Fatalf("%d bytes, %.200q", len(kept), done.Text)
	}
}

func TestRemoveOld(t *testing.T) {
	dir := t.TempDir()
	o := &tool.Outputs{Dir: dir, File: 512 << 20}
	now := time.Now()
	make := func(name string, age time.Duration, size int64) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	make("tool_old", 8*24*time.Hour, 1)
	make("notes_old", 8*24*time.Hour, 1)
	make("tool_big1", 3*time.Hour, 600<<20) // sparse file
	make("tool_big2", 2*time.Hour, 600<<20)
	make("tool_new", time.Hour, 1)
	if err := o.RemoveOld(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	var left []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if got := strings.Join(left, " "); got != "notes_old tool_big2 tool_new" {
		t.Fatal(got)
	}
	if err := (&tool.Outputs{Dir: filepath.Join(dir, "none")}).RemoveOld(t.Context(), now); err != nil {
		t.Fatal(err)
	}
}

func FuzzBound(f *testing.F) {
	f.Add("hello\nworld", 5, 20)
	f.Add(strings.Repeat("é\r\n", 50), 10, 300)
	f.Add("\xf0\x9f\x98\x00\xff", 1, 1)
	f.Fuzz(func(t *testing.T, s string, maxLines, maxBytes int) {
		limits := tool.Limits{Lines: maxLines % 5000, Bytes: maxBytes % 100000}
		c := tool.NewCapture(nil, limits, nil)
		half := len(s) / 2
		_, _ = c.Write([]byte(s[:half]))
		_, _ = c.Write([]byte(s[half:]))
		done := c.Finish(t.Context())
		if !utf8.ValidString(done.Text) || strings.Contains(done.Text, "\x00") {
			t.Fatalf("%q", done.Text)
		}
		if limits.Lines > 4 && limits.Bytes > 300 &&
			(len(done.Text) > limits.Bytes || strings.Count(done.Text, "\n")+1 > limits.Lines) {
			t.Fatalf("%d bytes, %d lines with %+v", len(done.Text), strings.Count(done.Text, "\n")+1, limits)
		}
	})
}
