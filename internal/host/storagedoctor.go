package host

import (
	"context"
	"fmt"
	"os"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/fileattr"
	"github.com/cairn-dev/cairn/internal/finding"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/record/follower"
	"github.com/cairn-dev/cairn/internal/record/searchindex"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
)

// loadStorageSettings returns the user's settings of the storage: a project's files have none.
func loadStorageSettings(ctx context.Context, dirs config.Directories, o client.Options) (config.Storage, error) {
	user, err := config.Load(ctx, config.Options{Dirs: dirs, Env: o.Env, All: true})
	if err != nil {
		return config.Storage{}, err
	}
	return user.Storage, nil
}

// examineStorage reports the search index, the quota and the retention of a store, which may be open in another process,
// and a disk that is nearly full. Settings that cannot be read are a finding of another check.
func examineStorage(ctx context.Context, s *sqlite.Store, dirs config.Directories, o client.Options) []finding.Finding {
	settings, err := loadStorageSettings(ctx, dirs, o)
	if err != nil {
		return nil
	}
	found := []finding.Finding{
		examineIndex(ctx, s, dirs, settings.Search.MaxBytes()),
		examineQuota(ctx, s, int64(settings.Quota)),
		{Level: finding.OK, What: "retention", Detail: settings.Retention.Policy().String()},
	}
	if free, ok := fileattr.FreeSpace(dirs.Data); ok && free < minFreeDisk {
		found = append(found, describeFullDisk(dirs.Data, free))
	}
	return found
}

// describeFullDisk reports that no new work begins because the disk has too few free bytes.
func describeFullDisk(dir string, free int64) finding.Finding {
	return finding.Finding{
		Level: finding.Warning, What: "disk", Detail: fmt.Sprintf("%s has %s left, less than the %s that new work needs",
			dir, formatMiB(free), formatMiB(minFreeDisk)),
		Fix: "no new work begins: make room; cairn storage shows what cairn takes",
	}
}

// examineIndex reports the state of the search index.
func examineIndex(ctx context.Context, s *sqlite.Store, dirs config.Directories, maxBytes int64) finding.Finding {
	f := finding.Finding{Level: finding.OK, What: "search index"}
	if maxBytes == 0 {
		f.Detail = "off (storage.search)"
		return f
	}
	c := searchindex.Examine(dirs.Data, s.ID(), maxBytes)
	size := int64(0)
	if info, err := os.Stat(searchindex.File(dirs.Data)); err == nil {
		size = info.Size()
	}
	head, err := store.Query(ctx, s, func(r store.Reader) (int64, error) { return r.Head("") })
	position, isRebuilding, hasCursor := follower.ReadPosition(searchindex.CursorFile(dirs.Data))
	const catchUp = "the next search brings it up to date"
	switch {
	case c.Problem != nil:
		f.Level, f.Detail = finding.Warning, fmt.Sprintf("invalid: %v", c.Problem)
		f.Fix = "run cairn search to rebuild it; if that fails, remove " + searchindex.File(dirs.Data)
	case !c.Exists:
		f.Detail = "not made yet; the first search, or a server, makes it"
	case err != nil:
		f.Level, f.Detail = finding.Warning, fmt.Sprintf("cannot be compared with the sessions: %v", err)
	case isRebuilding || !hasCursor:
		f.Detail = "being rebuilt; " + catchUp
	case position < head:
		f.Detail = fmt.Sprintf("%d events behind; %s", head-position, catchUp)
	case c.Trimmed:
		f.Level, f.Detail = finding.Note, fmt.Sprintf("trimmed to %s: old texts are not found", formatMiB(maxBytes))
		f.Fix = "raise storage.search"
	default:
		f.Detail = fmt.Sprintf("complete, %s of %s", formatMiB(size), formatMiB(maxBytes))
	}
	return f
}

// examineQuota reports how far the sessions are from the quota.
func examineQuota(ctx context.Context, s *sqlite.Store, quota int64) finding.Finding {
	f := finding.Finding{Level: finding.OK, What: "quota", Detail: "none"}
	if quota == 0 {
		return f
	}
	space, err := s.MeasureSpace(ctx)
	if err != nil {
		f.Level, f.Detail = finding.Warning, err.Error()
		return f
	}
	used := space.Bytes - space.Free
	f.Detail = fmt.Sprintf("the sessions have %s of %s", formatMiB(used), formatMiB(quota))
	if used > quota {
		f.Level, f.Fix = finding.Warning, "no new work begins: delete sessions (cairn storage prune), or raise storage.quota"
	}
	return f
}

func formatMiB(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
