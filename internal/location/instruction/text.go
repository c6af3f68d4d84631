package instruction

import (
	"strings"

	"github.com/cairn-dev/cairn/internal/systemcontext"
)

// newSource returns a source with the observed files, or the error of one that could not be read.
func newSource(key string, files []File, err error) systemcontext.Source {
	// The name of the source in its texts.
	about := "instructions"
	switch key {
	case KeyConfigured:
		about = "instructions that the configuration names"
	case KeyNested:
		about = "instructions for single directories"
	}
	// The whole list replaces the one before: the model need not combine parts of two states.
	return systemcontext.Make(systemcontext.Spec[[]File]{
		Key:   key,
		Value: files, Err: err,
		Parts: listParts,
		Baseline: func(files []File) string {
			if key == KeyNested {
				return "These instructions apply to the files below the directory of each.\n\n" + render(files)
			}
			return render(files)
		},
		Update: func(_, cur []File) string {
			return "The " + about + " have changed. What follows replaces all of them that you were given earlier.\n\n" + render(
				cur,
			)
		},
		Removal: func(was []File) string {
			paths := make([]string, len(was))
			for i, f := range was {
				paths[i] = f.Path
			}
			return "The " + about + " given earlier no longer apply; their files are gone: " + strings.Join(paths, ", ")
		},
	})
}

// render formats each file below its path.
func render(files []File) string {
	var texts []string
	for _, p := range listParts(files) {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n\n")
}

func listParts(files []File) []systemcontext.SourcePart {
	parts := make([]systemcontext.SourcePart, len(files))
	for i, f := range files {
		parts[i] = systemcontext.SourcePart{Name: f.Path, Text: "Instructions from: " + f.Path + "\n" + f.Content}
	}
	return parts
}
