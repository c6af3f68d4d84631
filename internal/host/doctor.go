package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/cairn-dev/cairn/internal/agent"
	"github.com/cairn-dev/cairn/internal/auth"
	"github.com/cairn-dev/cairn/internal/check"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/llm/script"
	"github.com/cairn-dev/cairn/internal/project"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
	"github.com/cairn-dev/cairn/internal/store/sqlite"
)

func finder(dirs config.Directories) *project.Finder {
	return &project.Finder{Cache: filepath.Join(dirs.Cache, "project")}
}

// Doctor implements cli.Host.
func (h Host) Doctor(ctx context.Context, o cli.Options) ([]cli.Finding, error) {
	dirs, err := config.Dirs(o.Env)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	found := examineStore(ctx, dirs)
	found = append(found, examineModes(dirs)...)
	found = append(found, h.examineLocation(ctx, dirs, o)...)
	return append(found, examineTools()...), nil
}

// examineStore opens the store for reading beside whoever owns it.
func examineStore(ctx context.Context, dirs config.Directories) []cli.Finding {
	found := []cli.Finding{{Level: cli.LevelOK, What: "data", Detail: dirs.Data}}
	lease, err := sqlite.AcquireLease(dirs.Data, sqlite.Owner{})
	if held, ok := errors.AsType[*sqlite.Held](err); ok {
		found = append(found, cli.Finding{Level: cli.LevelOK, What: "owner", Detail: held.Error()})
	} else if err != nil {
		return append(found, cli.Finding{Level: cli.LevelError, What: "data", Detail: err.Error(), Fix: "make the folder writable for you, or set CAIRN_HOME"})
	} else {
		defer func() { _ = lease.Release() }()
	}
	if fresh(dirs) {
		return append(found, cli.Finding{Level: cli.LevelNote, What: "store", Detail: "there is none yet; the first session makes it"})
	}
	s, err := sqlite.Open(ctx, sqlite.Config{Dir: dirs.Data, ReadOnly: true})
	if err != nil {
		return append(found, cli.Finding{Level: cli.LevelError, What: "store", Detail: err.Error(), Fix: "restore a backup from " + filepath.Join(dirs.Data, "backup")})
	}
	defer func() { _ = s.Close() }()
	var n int
	err = s.View(ctx, func(r store.Reader) error {
		all, err := r.Sessions(store.SessionQuery{Archived: true})
		n = len(all)
		return err
	})
	if err != nil {
		return append(found, cli.Finding{Level: cli.LevelError, What: "store", Detail: err.Error(), Fix: "run cairn fsck to see what is damaged"})
	}
	return append(found, cli.Finding{Level: cli.LevelOK, What: "store", Detail: fmt.Sprintf("%d sessions can be read", n)})
}

// fresh reports whether the folder never held a store.
func fresh(dirs config.Directories) bool {
	for _, name := range []string{"cairn.db", "store-id"} {
		if _, err := os.Lstat(filepath.Join(dirs.Data, name)); !errors.Is(err, os.ErrNotExist) {
			return false
		}
	}
	return true
}

// examineModes looks for files that others can read (spec/guarantees S16).
func examineModes(dirs config.Directories) []cli.Finding {
	var found []cli.Finding
	for _, p := range []string{dirs.Data, filepath.Join(dirs.Data, "cairn.db"), filepath.Join(dirs.Data, auth.FileName)} {
		info, err := os.Stat(p)
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			found = append(found, cli.Finding{
				Level: cli.LevelWarning, What: "permissions", Detail: fmt.Sprintf("%s has mode %04o: others can read it", p, info.Mode().Perm()),
				Fix: "chmod go-rwx " + p,
			})
		}
	}
	return found
}

// examineLocation reads the configuration of the directory and finds the model that a session would use.
func (h Host) examineLocation(ctx context.Context, dirs config.Directories, o cli.Options) []cli.Finding {
	cfg, err := h.Config(ctx, o)
	if err != nil {
		return []cli.Finding{{Level: cli.LevelError, What: "configuration", Detail: err.Error(), Fix: "mend the file; cairn config explain shows what is in force"}}
	}
	found := []cli.Finding{{Level: cli.LevelOK, What: "configuration", Detail: fmt.Sprintf("read, %d warnings", len(cfg.Warnings))}}
	for _, w := range append(cfg.Warnings, agent.New(cfg, agent.Options{}).Warnings()...) {
		found = append(found, cli.Finding{Level: cli.LevelWarning, What: "configuration", Detail: w.String()})
	}
	table := &modelTable{auth: auth.New(dirs.Data, o.Env), getenv: o.Env, transport: provider.NewTransport(), version: o.Version}
	models, err := table.of(cfg)
	if err != nil {
		return append(found, cli.Finding{Level: cli.LevelError, What: "models", Detail: err.Error()})
	}
	ref, err := models.Default()
	if err == nil {
		_, err = models.Resolve(ref, session.Agent{})
	}
	switch {
	case err != nil:
		return append(found, cli.Finding{Level: cli.LevelError, What: "model", Detail: err.Error(), Fix: "choose another with the key \"model\", or cairn run -m"})
	case ref.ProviderID == script.ProviderID:
		return append(found, cli.Finding{
			Level: cli.LevelNote, What: "model", Detail: ref.String() + ": no provider is configured, so the offline guide answers",
			Fix: "set a key such as OPENAI_API_KEY, or run cairn auth login PROVIDER",
		})
	default:
		return append(found, cli.Finding{Level: cli.LevelOK, What: "model", Detail: ref.String()})
	}
}

func examineTools() []cli.Finding {
	var found []cli.Finding
	for name, without := range map[string]string{
		"git": "projects have no identity of their own without it",
		"rg":  "searching works without it, slower",
	} {
		if _, err := exec.LookPath(name); err != nil {
			found = append(found, cli.Finding{Level: cli.LevelNote, What: name, Detail: "is not installed: " + without})
		}
	}
	return found
}

// Backup implements cli.Host. It works beside the owner of the store.
func (h Host) Backup(ctx context.Context, o cli.Options, file string) error {
	dirs, err := config.Dirs(o.Env)
	if err != nil {
		return session.Errorf(session.CodeInvalid, "%v", err)
	}
	s, err := sqlite.Open(ctx, sqlite.Config{Dir: dirs.Data, ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	return s.Backup(ctx, file)
}

// Fsck implements cli.Host. It works beside the owner of the store.
func (h Host) Fsck(ctx context.Context, o cli.Options) ([]cli.Finding, error) {
	dirs, err := config.Dirs(o.Env)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	if fresh(dirs) {
		return []cli.Finding{{Level: cli.LevelNote, What: "store", Detail: "there is none yet"}}, nil
	}
	s, err := sqlite.Open(ctx, sqlite.Config{Dir: dirs.Data, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	report, err := check.Run(ctx, s)
	if err != nil {
		return nil, err
	}
	found := []cli.Finding{{Level: cli.LevelOK, What: "log", Detail: fmt.Sprintf("%d sessions, %d events read", report.Sessions, report.Events)}}
	for _, v := range report.Violations {
		found = append(found, cli.Finding{Level: cli.LevelError, What: string(v.Invariant), Detail: v.String(), Fix: "keep a copy of " + dirs.Data + " and report it"})
	}
	return found, nil
}
