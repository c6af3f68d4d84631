package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/cairn-dev/cairn/internal/client/discovery"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/audit"
	"github.com/cairn-dev/cairn/internal/access/sandbox"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/finding"
	"github.com/cairn-dev/cairn/internal/location/agent"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/snapshot"
	"github.com/cairn-dev/cairn/internal/record/check"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer/share"
)

// Doctor implements cli.Maintenance.
func (h Host) Doctor(ctx context.Context, o client.Options) ([]finding.Finding, error) {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	return append(examineData(ctx, dirs, o), h.examineEnvironment(ctx, dirs, o)...), nil
}

// ownerDoctor implements v2.Doctor in a running owner, with the findings of cairn doctor --json.
type ownerDoctor struct {
	store     store.Store
	condition func() error // why nothing can be written; nil if it can
	owned     *sqlite.Store
	dirs      config.Directories
	o         client.Options
}

// Examine implements v2.Doctor.
func (e ownerDoctor) Examine(ctx context.Context) (jsontext.Value, error) {
	found := []finding.Finding{{Level: finding.OK, What: "data", Detail: e.dirs.Data}}
	if why := e.condition(); why != nil {
		found = append(found, check.DamageFinding(why.Error()))
	}
	found = append(found, check.UncheckedFindings(e.owned.DescribeUnchecked())...)
	found = append(found, check.Examine(ctx, e.store)...)
	found = append(found, examineStorage(ctx, e.owned, e.dirs, e.o)...)
	found = append(found, Host{}.examineEnvironment(ctx, e.dirs, e.o)...)
	return json.Marshal(found, json.Deterministic(true))
}

// examineEnvironment examines everything but the store: files, the configuration of the directory, the models, and
// what this machine lacks.
func (h Host) examineEnvironment(ctx context.Context, dirs config.Directories, o client.Options) []finding.Finding {
	found := slices.Concat(dirs.ExamineModes(), discovery.ExamineSecret(dirs.Data), audit.New(dirs.Data).Examine(ctx),
		examineDropped(ctx, dirs, time.Now()), share.NewRegistry(dirs.Data).Examine(), snapshot.ExamineSize(snapshotDir(dirs.Data), maxSnapshots))
	cfg, err := h.Config(ctx, o)
	if err != nil {
		found = append(found, finding.Finding{
			Level: finding.Error, What: "configuration", Detail: err.Error(), Fix: config.Fix,
		})
		return append(found, examineTools()...)
	}
	found = append(found, cfg.Examine(agent.New(cfg, agent.Options{}).Warnings())...)
	found = append(found, examineMirror(dirs, cfg)...)
	if len(cfg.Errors) == 0 {
		found = append(found, newPool(dirs, o).Examine(ctx, cfg)...)
	}
	return append(found, examineTools()...)
}

// examineData opens the store for reading, beside its owner.
func examineData(ctx context.Context, dirs config.Directories, o client.Options) []finding.Finding {
	found := []finding.Finding{{Level: finding.OK, What: "data", Detail: dirs.Data}}
	unusable := func(err error) []finding.Finding {
		return []finding.Finding{{
			Level: finding.Error, What: "data", Detail: err.Error(),
			Fix: "make the folder writable for you, or set CAIRN_HOME",
		}}
	}
	if _, err := os.Stat(dirs.Data); errors.Is(err, os.ErrNotExist) { // AcquireLease would make the folder
		if err := checkCreatable(dirs.Data); err != nil {
			return unusable(err)
		}
		return append(found, noStore)
	}
	// A held lease names the owner; any other failure shows that the folder cannot be used.
	lease, err := sqlite.AcquireLease(dirs.Data, sqlite.Owner{})
	if held, ok := errors.AsType[*sqlite.HeldError](err); ok {
		found = append(found, finding.Finding{Level: finding.OK, What: "owner", Detail: held.Error()})
	} else if err != nil {
		return unusable(err)
	} else {
		defer func() { _ = lease.Release() }()
	}
	// Open the store read-only: this works beside an owner and changes nothing.
	if hasNoStore(dirs) {
		return append(found, noStore)
	}
	s, err := sqlite.Open(ctx, sqlite.Config{Dir: dirs.Data, ReadOnly: true})
	switch {
	case errors.Is(err, store.ErrDamaged):
		return append(found, check.DamageFinding(err.Error()))
	case err != nil: // the error says what to do
		return append(found, finding.Finding{Level: finding.Error, What: "store", Detail: err.Error()})
	}
	defer func() { _ = s.Close() }()
	// Damage comes first: with it, further checks are meaningless.
	if err := s.FindDamage(); err != nil {
		return append(found, check.DamageFinding(err.Error()))
	}
	return slices.Concat(found, check.UncheckedFindings(s.DescribeUnchecked()), check.Examine(ctx, s), examineStorage(ctx, s, dirs, o))
}

// checkCreatable returns why a missing folder cannot be created: its nearest existing parent cannot be written to.
func checkCreatable(dir string) error {
	parent := filepath.Dir(dir)
	for parent != filepath.Dir(parent) {
		if _, err := os.Stat(parent); !errors.Is(err, os.ErrNotExist) {
			break
		}
		parent = filepath.Dir(parent)
	}
	probe, err := os.MkdirTemp(parent, ".cairn-*")
	if err != nil {
		return fmt.Errorf("the folder %s cannot be created: %w", dir, err)
	}
	return os.Remove(probe)
}

var noStore = finding.Finding{
	Level: finding.Note, What: "store", Detail: "not created yet; the first session creates it",
}

// hasNoStore reports whether the data folder never held a store.
func hasNoStore(dirs config.Directories) bool {
	for _, name := range []string{"cairn.db", "store-id"} {
		if _, err := os.Lstat(filepath.Join(dirs.Data, name)); !errors.Is(err, os.ErrNotExist) {
			return false
		}
	}
	return true
}

func examineTools() []finding.Finding {
	var found []finding.Finding
	for name, without := range map[string]string{
		"git": "without it, cairn cannot tell projects apart",
		"rg":  "without it, search is slower",
	} {
		if _, err := exec.LookPath(name); err != nil {
			found = append(found, finding.Finding{Level: finding.Note, What: name, Detail: "is not installed: " + without})
		}
	}
	return append(found, sandbox.Examine()...)
}

// logSandbox logs which parts of the sandbox this system lacks, and what follows.
func logSandbox(log *slog.Logger) {
	for _, f := range sandbox.Examine() {
		if f.Level != finding.OK {
			log.Error("the sandbox of commands is not complete", "reason", f.Detail)
		}
	}
}

// Backup implements cli.Maintenance. It works beside the owner of the store.
func (h Host) Backup(ctx context.Context, o client.Options, file string) error {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return session.Errorf(session.CodeInvalid, "%v", err)
	}
	if hasNoStore(dirs) {
		return session.Errorf(session.CodeInvalid, "%s has no store to copy; cairn run creates one", dirs.Data)
	}
	if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
		return session.Errorf(session.CodeInvalid, "folder %s not found; create it first", filepath.Dir(file))
	}
	if _, err := os.Lstat(file); err == nil {
		return session.Errorf(session.CodeInvalid, "%s exists; name a new file", file)
	}
	s, err := sqlite.Open(ctx, sqlite.Config{Dir: dirs.Data, ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	if err := s.FindDamage(); err != nil {
		return fmt.Errorf("the copy would not be complete: %w; %s", err, check.SalvageFix)
	}
	if err := s.Backup(ctx, file); err != nil {
		return err
	}
	// The backup is complete without the record of it.
	if err := recordCopy(ctx, dirs, kindBackup, file); err != nil && o.Note != nil {
		o.Note(fmt.Sprintf("the backup is not recorded, so that cairn session delete does not name it: %v", err))
	}
	return nil
}

// Fsck implements cli.Maintenance. It works beside the owner of the store.
func (h Host) Fsck(ctx context.Context, o client.Options) ([]finding.Finding, error) {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	if hasNoStore(dirs) {
		return append(audit.New(dirs.Data).Examine(ctx), noStore), nil
	}
	s, err := sqlite.Open(ctx, sqlite.Config{Dir: dirs.Data, ReadOnly: true})
	if errors.Is(err, store.ErrDamaged) {
		err = fmt.Errorf("%w; %s", err, check.SalvageFix)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	report, err := check.Run(ctx, s)
	if err != nil {
		return nil, err
	}
	var damage []finding.Finding
	if err := s.FindDamage(); err != nil {
		damage = append(damage, check.DamageFinding(err.Error()))
	}
	damage = append(damage, check.UncheckedFindings(s.DescribeUnchecked())...)
	found := slices.Insert(report.ListFindings(dirs.Data), 1, damage...)
	found = append(found, audit.New(dirs.Data).Examine(ctx)...)
	return append(found, snapshot.NewBlobs(snapshotDir(dirs.Data)).Examine(ctx)...), nil
}
