package file

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/tool"
)

// ChangedPaths are the files that a call changed: real paths, of removed files as well.
type ChangedPaths struct {
	Paths []string
	// Name returns the name of a file in messages; nil if the call changes one file, which needs none.
	Name func(path string) string
}

// Diagnosis is what language servers report after a change.
type Diagnosis struct {
	Text  string                    // for the model, after the message of the change; "" without errors and notes
	Notes []string                  // why servers did not report; in Text as well
	Files map[string]jsontext.Value // lists of diagnostics by path, for programs
}

// diagnose adds what language servers report to the message of the change.
func (s *fileTools) diagnose(ctx context.Context, call tool.Call, c *change) {
	c.diagnostics = map[string]jsontext.Value{}
	if s.config.Diagnose == nil {
		return
	}
	changed := ChangedPaths{}
	titles := map[string]string{}
	for _, st := range c.steps {
		changed.Paths = append(changed.Paths, st.path.Real)
		titles[st.path.Real] = st.path.Title()
	}
	if c.files != nil {
		changed.Name = func(path string) string { return titles[path] }
	}
	found := s.config.Diagnose(ctx, changed)
	c.notes = found.Notes
	c.message += tool.MarkImitations(call, "language servers", found.Text)
	if found.Files != nil {
		c.diagnostics = found.Files
	}
}
