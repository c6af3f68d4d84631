package project

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// FindMovedSession returns where a session whose directory is in the project p would work since its own project was
// moved away from there. It is "" unless p is another project, and the directory exists below the new place.
func (f *Finder) FindMovedSession(ctx context.Context, p Project, s *session.Session) (to string, err error) {
	if s.RecordID == "" || p.RecordID == "" || s.RecordID == p.RecordID {
		return "", nil
	}
	found, err := store.Query(ctx, f.Store, func(r store.Reader) ([]store.Project, error) {
		return r.Projects(store.ProjectQuery{ID: s.RecordID})
	})
	if err != nil || len(found) == 0 {
		return "", err
	}
	for _, earlier := range slices.Backward(found[0].Earlier) {
		rest, inside := strings.CutPrefix(s.Location.Directory+"/", strings.TrimSuffix(earlier, "/")+"/")
		to := filepath.Join(found[0].Path, rest)
		if inside && to != s.Location.Directory {
			if info, err := os.Stat(to); err == nil && info.IsDir() {
				return to, nil
			}
		}
	}
	return "", nil
}
