package opencode

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// Changed files are announced before their calls are completed; an edit is announced with its diff before that.
func TestChangedFiles(t *testing.T) {
	for _, c := range []struct{ tool, says, want string }{
		{
			"edit", `{"filepath":"/w/a","exists":true,"diff":"d","truncated":false}`,
			`edited /w/a, change /w/a, running {"diff":"d"}, completed {"diff":"d","truncated":false}`,
		},
		{
			"write", `{"filepath":"/w/a","exists":false,"diff":"d"}`,
			`edited /w/a, add /w/a, completed {"exists":false,"filepath":"/w/a","truncated":false}`,
		},
		{
			"read", `{"filepath":"/w/a","seen":{"/w/a":"x"},"truncated":false}`,
			`completed {"filepath":"/w/a","truncated":false}`,
		},
		{
			"apply_patch",
			`{"truncated":false,"files":[{"filePath":"/w/a","type":"add"},{"filePath":"/w/b","type":"delete"},{"filePath":"/w/c","type":"update"},{"filePath":"/w/d","movePath":"/w/e","type":"move"}]}`,
			`edited /w/a, add /w/a, unlink /w/b, edited /w/c, change /w/c, edited /w/e, add /w/e, unlink /w/d, completed`,
		},
	} {
		f := Begin()
		var got []string
		for _, e := range log(
			&session.Created{Info: session.Session{ID: "ses_1", Open: true}},
			&session.StepStarted{TurnFact: session.OfTurn("msg_1")},
			&session.ToolInputStarted{TurnFact: session.OfTurn("msg_1"), CallID: "c", PartID: "prt_1", Name: c.tool},
			&session.ToolCalled{
				TurnFact: session.OfTurn("msg_1"), CallID: "c", PartID: "prt_1", Tool: c.tool,
				Input: jsontext.Value(`{}`),
			},
			&session.ToolSuccess{
				TurnFact: session.OfTurn("msg_1"), CallID: "c", PartID: "prt_1",
				Structured: jsontext.Value(c.says),
			},
		) {
			got = nil
			for _, e := range f.ApplyEvent(e) {
				got = append(got, toldOf(e))
			}
		}
		if !strings.HasPrefix(strings.Join(got, ", "), c.want) {
			t.Errorf("%s\ngot  %s\nwant %s", c.tool, strings.Join(got, ", "), c.want)
		}
	}
}

func toldOf(e Event) string {
	switch p := e.Properties.(type) {
	case FileEdited:
		return "edited " + p.File
	case FileWatched:
		return p.Event + " " + p.File
	case PartInfo:
		if call, ok := p.Part.(*ToolPart); ok {
			switch s := call.State.(type) {
			case *ToolRunning:
				return "running " + string(s.Metadata)
			case *ToolCompleted:
				return "completed " + string(s.Metadata)
			}
		}
	}
	return fmt.Sprint(e)
}
