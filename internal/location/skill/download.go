package skill

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/cairn-dev/cairn/internal/statefile"
)

// Bounds of the files beside a SKILL.md that is a page.
const (
	maxDownloads    = 50
	downloadTimeout = 10 * time.Second
)

// downloadFiles stores the files that the index lists beside the SKILL.md of a page, as they are now, and names them.
// A file that cannot be fetched stays what it was. problems has one line for each file that is missing.
func (o Options) downloadFiles(ctx context.Context, s *Skill) (names, problems []string) {
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	for _, name := range s.listed[:min(len(s.listed), maxDownloads)] {
		if err := o.downloadFile(ctx, s, name); err != nil {
			problems = append(problems, name+": "+err.Error())
		} else {
			names = append(names, filepath.FromSlash(name))
		}
	}
	if more := len(s.listed) - maxDownloads; more > 0 {
		problems = append(problems, fmt.Sprintf("%d more: the limit is %d files of a skill", more, maxDownloads))
	}
	return names, problems
}

func (o Options) downloadFile(ctx context.Context, s *Skill, name string) error {
	u := url.URL{Path: name}
	raw, err := o.readPage(ctx, s.address+"/"+u.EscapedPath())
	if err != nil {
		return err
	}
	to := filepath.Join(s.folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("cannot be stored: %w", err)
	}
	if err := statefile.Replace(to, raw, 0o600); err != nil {
		return fmt.Errorf("cannot be stored: %w", err)
	}
	return nil
}
