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
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/audit"
	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/access/sandbox"
	"github.com/cairn-dev/cairn/internal/access/shell"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/llm/guide"
	"github.com/cairn-dev/cairn/internal/location/agent"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/models"
	"github.com/cairn-dev/cairn/internal/record/check"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/server"
	"github.com/cairn-dev/cairn/internal/session"
)

func newProjectFinder(dirs config.Directories) *project.Finder {
	return &project.Finder{Cache: filepath.Join(dirs.Cache, "project")}
}

// Doctor implements cli.Host.
func (h Host) Doctor(ctx context.Context, o cli.Options) ([]cli.Finding, error) {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	return append(examineData(ctx, dirs), h.examineEnvironment(ctx, dirs, o)...), nil
}

// ownerDoctor implements v2.Doctor in a running owner, with the findings of cairn doctor --json.
type ownerDoctor struct {
	store     store.Store
	condition func() error // why nothing can be written; nil if it can
	unchecked string       // of sqlite.Store
	dirs      config.Directories
	o         cli.Options
}

// Examine implements v2.Doctor.
func (e ownerDoctor) Examine(ctx context.Context) (jsontext.Value, error) {
	found := []cli.Finding{{Level: cli.LevelOK, What: "data", Detail: e.dirs.Data}}
	if why := e.condition(); why != nil {
		found = append(found, damagedFinding(why.Error()))
	}
	found = append(found, uncheckedFindings(e.unchecked)...)
	found = append(found, examineStore(ctx, e.store)...)
	found = append(found, Host{}.examineEnvironment(ctx, e.dirs, e.o)...)
	return json.Marshal(found, json.Deterministic(true))
}

// examineEnvironment examines everything but the store.
func (h Host) examineEnvironment(ctx context.Context, dirs config.Directories, o cli.Options) []cli.Finding {
	found := append(examineModes(dirs), examineSecret(dirs)...)
	found = append(found, examineAudit(ctx, dirs)...)
	found = append(found, examineSnapshots(dirs)...)
	found = append(found, h.examineLocation(ctx, dirs, o)...)
	return append(found, examineTools()...)
}

// examineData opens the store for reading, beside its owner.
func examineData(ctx context.Context, dirs config.Directories) []cli.Finding {
	found := []cli.Finding{{Level: cli.LevelOK, What: "data", Detail: dirs.Data}}
	if _, err := os.Stat(dirs.Data); errors.Is(err, os.ErrNotExist) { // AcquireLease would make the folder
		return append(found, noStore)
	}
	lease, err := sqlite.AcquireLease(dirs.Data, sqlite.Owner{})
	if held, ok := errors.AsType[*sqlite.HeldError](err); ok {
		found = append(found, cli.Finding{Level: cli.LevelOK, What: "owner", Detail: held.Error()})
	} else if err != nil {
		return append(found, cli.Finding{
			Level: cli.LevelError, What: "data", Detail: err.Error(),
			Fix: "make the folder writable for you, or set CAIRN_HOME",
		})
	} else {
		defer func() { _ = lease.Release() }()
	}
	if hasNoStore(dirs) {
		return append(found, noStore)
	}
	s, err := sqlite.Open(ctx, sqlite.Config{Dir: dirs.Data, ReadOnly: true})
	switch {
	case errors.Is(err, store.ErrDamaged):
		return append(found, damagedFinding(err.Error()))
	case err != nil: // the error says what to do
		return append(found, cli.Finding{Level: cli.LevelError, What: "store", Detail: err.Error()})
	}
	defer func() { _ = s.Close() }()
	if err := s.FindDamage(); err != nil {
		return append(found, damagedFinding(err.Error()))
	}
	return append(append(found, uncheckedFindings(s.DescribeUnchecked())...), examineStore(ctx, s)...)
}

// examineSecret checks the server's secret, without which no owner starts.
func examineSecret(dirs config.Directories) []cli.Finding {
	err := server.CheckSecret(dirs.Data)
	if err == nil {
		return nil
	}
	return []cli.Finding{{
		Level: cli.LevelError, What: "secret", Detail: err.Error(),
		Fix: "remove " + filepath.Join(dirs.Data, "server.secret") + "; the next start makes another, " +
			"and clients that use the old one must log in again",
	}}
}

var noStore = cli.Finding{Level: cli.LevelNote, What: "store", Detail: "not created yet; the first session creates it"}

// examineTime bounds how long doctor reads the store. fsck reads all of it.
const examineTime = 3 * time.Second

// examineStore checks as much of the store as it can read within examineTime.
func examineStore(ctx context.Context, s store.Store) []cli.Finding {
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	report, err := check.Run(ctx, s)
	for _, v := range report.Violations {
		if v.Invariant == check.Readable {
			return []cli.Finding{damagedFinding(describeViolation(v))}
		}
	}
	switch {
	case len(report.Violations) > 0:
		v := report.Violations[0]
		return []cli.Finding{{
			Level: cli.LevelError, What: "store", Detail: describeViolation(v), Fix: "run cairn fsck to list all violations",
		}}
	case err != nil && ctx.Err() != nil:
		return []cli.Finding{{
			Level: cli.LevelNote, What: "store", Detail: "the first part is valid; run cairn fsck to check all of it",
		}}
	case err != nil:
		return []cli.Finding{damagedFinding(err.Error())}
	default:
		detail := fmt.Sprintf("%d sessions can be read", report.Sessions)
		return []cli.Finding{{Level: cli.LevelOK, What: "store", Detail: detail}}
	}
}

// describeViolation names the session, if it is of one, and what is wrong.
func describeViolation(v check.Violation) string {
	if v.SessionID == "" {
		return v.Detail
	}
	return "session " + string(v.SessionID) + ": " + v.Detail
}

const salvageFix = "cairn salvage DIR copies what can be read into a new home; " +
	"backups made before migrations are in the folder backup of the data"

// damagedFinding reports a store that cannot be used as it is.
func damagedFinding(detail string) cli.Finding {
	return cli.Finding{Level: cli.LevelError, What: "store", Detail: detail, Fix: salvageFix}
}

// uncheckedFindings reports why it is unknown whether the store is complete, if it is.
func uncheckedFindings(why string) []cli.Finding {
	if why == "" {
		return nil
	}
	return []cli.Finding{{Level: cli.LevelWarning, What: "store", Detail: why}}
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

// examineModes looks for files that other users can read (S16).
func examineModes(dirs config.Directories) []cli.Finding {
	var found []cli.Finding
	for _, name := range []string{"", "cairn.db", auth.FileName, auth.SharedName} {
		p := filepath.Join(dirs.Data, name)
		info, err := os.Stat(p)
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			found = append(found, cli.Finding{
				Level: cli.LevelWarning, What: "permissions",
				Detail: fmt.Sprintf("%s has mode %04o: other users can read it", p, info.Mode().Perm()),
				Fix:    "chmod go-rwx " + p,
			})
		}
	}
	return found
}

// examineAudit looks for changed and missing entries of the audit log.
func examineAudit(ctx context.Context, dirs config.Directories) []cli.Finding {
	r, err := audit.New(dirs.Data).Read(ctx)
	if err != nil {
		r.Problem = err.Error()
	}
	if r.Problem == "" {
		return nil
	}
	return []cli.Finding{{
		Level: cli.LevelError, What: "audit log", Detail: r.Problem,
		Fix: "find out who changed it: cairn audit show; move " + audit.New(dirs.Data).Directory() +
			" away to begin another",
	}}
}

// examineLocation examines the configuration of the directory and the model that a session would use.
func (h Host) examineLocation(ctx context.Context, dirs config.Directories, o cli.Options) []cli.Finding {
	cfg, err := h.Config(ctx, o)
	if err != nil {
		return []cli.Finding{{Level: cli.LevelError, What: "configuration", Detail: err.Error(), Fix: configFix}}
	}
	if len(cfg.Errors) > 0 {
		return configErrors(cfg)
	}
	found := []cli.Finding{{
		Level: cli.LevelOK, What: "configuration", Detail: fmt.Sprintf("read, %d warnings", len(cfg.Warnings)),
	}}
	for _, w := range config.GroupWarnings(slices.Concat(cfg.Warnings, agent.New(cfg, agent.Options{}).Warnings())) {
		found = append(found, cli.Finding{Level: cli.LevelWarning, What: "configuration", Detail: w.String()})
	}
	if !cfg.Snapshot {
		found = append(found, cli.Finding{
			Level: cli.LevelNote, What: "snapshots",
			Detail: "disabled here: cairn undo takes back messages, but no files",
			Fix:    "remove \"snapshot\": false from the configuration",
		})
	}
	found = append(found, examineShell(cfg.Shell)...)
	pool, err := newPool(o)
	var set *models.Set
	if err == nil {
		set, err = pool.Build(cfg)
	}
	if err != nil {
		return append(found, cli.Finding{Level: cli.LevelError, What: "models", Detail: err.Error()})
	}
	found = append(found, examineKeys(ctx, pool.Auth)...)
	found = append(found, examineFacts(pool, set)...)
	ref, err := set.Default()
	if err == nil {
		_, err = set.Resolve(ref, session.Agent{})
	}
	switch {
	case models.IsKeyUnreachable(err):
		return append(found, cli.Finding{
			Level: cli.LevelError, What: "model",
			Detail: ref.String() + " cannot be used: the key of its provider cannot be read",
			Fix:    "cairn doctor provider " + ref.ProviderID,
		})
	case err != nil:
		return append(found, cli.Finding{
			Level: cli.LevelError, What: "model", Detail: err.Error(),
			Fix: "choose another with the key \"model\", or cairn run -m",
		})
	case ref.ProviderID == guide.ProviderID:
		return append(found, cli.Finding{
			Level: cli.LevelNote, What: "model",
			Detail: ref.String() + ": no provider is configured, so the offline guide answers",
			Fix:    "set a key such as OPENAI_API_KEY, or run cairn auth login PROVIDER",
		})
	default:
		return append(found, cli.Finding{Level: cli.LevelOK, What: "model", Detail: ref.String()})
	}
}

// examineShell says if no line for the configured shell is plain.
func examineShell(name string) []cli.Finding {
	if name == "" || shell.IsSupported(name) {
		return nil
	}
	return []cli.Finding{{
		Level: cli.LevelNote, What: "shell",
		Detail: name + " is not bash, sh, dash or ash: no pattern applies to its command lines, " +
			"so they need a rule for all commands, their exact text or an answer",
		Fix: "set the key \"shell\" to one of these",
	}}
}

// examineKeys looks for stored keys that cannot be used, and for removed keys that are still in the keyring.
func examineKeys(ctx context.Context, store *auth.Store) []cli.Finding {
	var found []cli.Finding
	troubles, err := store.ListProblems(ctx)
	if err != nil {
		return nil // models.Build reports it
	}
	for _, t := range troubles {
		f := keyFinding(t.Err)
		f.Level = cli.LevelWarning
		found = append(found, f)
	}
	if left, err := store.ListOrphans(""); err != nil {
		found = append(found, cli.Finding{Level: cli.LevelWarning, What: "keyring", Detail: err.Error()})
	} else if len(left.Names) > 0 {
		found = append(found, cli.Finding{
			Level: cli.LevelWarning, What: "keyring",
			Detail: "still has keys that were removed: " + strings.Join(left.Names, ", "),
			Fix:    "cairn auth list removes them as soon as the keyring can be reached",
		})
	}
	return found
}

// maxFactsFindings bounds how many invalid rows of the list of models doctor shows.
const maxFactsFindings = 10

// oldFactsDays is the age at which doctor shows how old the list of models is.
const oldFactsDays = 2

// examineFacts looks for rows of the list of models that cannot be read.
func examineFacts(pool *models.Pool, set *models.Set) []cli.Finding {
	var found []cli.Finding
	add := func(detail, fix string) {
		found = append(found, cli.Finding{Level: cli.LevelWarning, What: "models", Detail: detail, Fix: fix})
	}
	file := pool.FactsFile()
	if err := pool.Facts.Check(); err != nil && file == "" {
		add(err.Error()+"; the list that came with cairn is in use", "cairn models --refresh")
	}
	if days := int(pool.FactsAge().Hours() / 24); days >= oldFactsDays {
		found = append(found, cli.Finding{
			Level: cli.LevelNote, What: "models", Detail: fmt.Sprintf("the list of models and prices is %d days old", days),
			Fix: "cairn models --refresh",
		})
	}
	problems := set.Catalog.Problems()
	for i, p := range problems {
		if i == maxFactsFindings {
			add(fmt.Sprintf("%d more entries cannot be read", len(problems)-i), "")
			break
		}
		fix := "the other entries are in use; cairn models --refresh may fetch a valid one"
		if file != "" {
			fix = "correct it in " + file
		}
		add("the row "+p.String(), fix)
	}
	return found
}

const configFix = "correct the file; cairn config explain shows the values in use"

// configErrors reports the errors that keep a configuration from being used.
func configErrors(cfg *config.Config) []cli.Finding {
	var found []cli.Finding
	for _, e := range cfg.Errors {
		found = append(found, cli.Finding{
			Level: cli.LevelError, What: "configuration", Detail: e.Error(), Fix: configFix,
		})
	}
	return found
}

func examineTools() []cli.Finding {
	var found []cli.Finding
	for name, without := range map[string]string{
		"git": "without it, cairn cannot tell projects apart",
		"rg":  "without it, search is slower",
	} {
		if _, err := exec.LookPath(name); err != nil {
			found = append(found, cli.Finding{Level: cli.LevelNote, What: name, Detail: "is not installed: " + without})
		}
	}
	return append(found, examineSandbox()...)
}

// examineSandbox says which parts of the sandbox for commands this system enforces.
func examineSandbox() []cli.Finding {
	if err := sandbox.Check(); err != nil {
		return []cli.Finding{{
			Level: cli.LevelNote, What: "sandbox",
			Detail: "not available for commands: " + err.Error() + "; those that run without an ask are not confined, " +
				"and none run with --sandbox or in plan mode",
		}}
	}
	found := []cli.Finding{{Level: cli.LevelOK, What: "sandbox", Detail: "files, network and system calls of commands"}}
	const withoutNamespace = "protected files are restored after a command, not read-only, and no commands run in the " +
		"mode strict and in plan mode"
	for _, part := range []struct {
		err     error
		without string
	}{
		{sandbox.CheckSignals(), "commands can send signals to other processes of the user"},
		{sandbox.CheckNamespace(), withoutNamespace},
	} {
		if part.err != nil {
			found = append(found, cli.Finding{
				Level: cli.LevelNote, What: "sandbox", Detail: part.without + ": " + part.err.Error(),
			})
		}
	}
	return found
}

// logSandbox logs which parts of the sandbox this system lacks, and what follows.
func logSandbox(log *slog.Logger) {
	for _, f := range examineSandbox() {
		if f.Level != cli.LevelOK {
			log.Error("the sandbox of commands is not complete", "reason", f.Detail)
		}
	}
}

// Backup implements cli.Host. It works beside the owner of the store.
func (h Host) Backup(ctx context.Context, o cli.Options, file string) error {
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
		return fmt.Errorf("the copy would not be complete: %w; %s", err, salvageFix)
	}
	return s.Backup(ctx, file)
}

// Fsck implements cli.Host. It works beside the owner of the store.
func (h Host) Fsck(ctx context.Context, o cli.Options) ([]cli.Finding, error) {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	if hasNoStore(dirs) {
		return append(examineAudit(ctx, dirs), noStore), nil
	}
	s, err := sqlite.Open(ctx, sqlite.Config{Dir: dirs.Data, ReadOnly: true})
	if errors.Is(err, store.ErrDamaged) {
		err = fmt.Errorf("%w; %s", err, salvageFix)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	report, err := check.Run(ctx, s)
	if err != nil {
		return nil, err
	}
	found := []cli.Finding{{
		Level: cli.LevelOK, What: "log",
		Detail: fmt.Sprintf("%d sessions, %d events read", report.Sessions, report.Events),
	}}
	if err := s.FindDamage(); err != nil {
		found = append(found, damagedFinding(err.Error()))
	}
	found = append(found, uncheckedFindings(s.DescribeUnchecked())...)
	for _, v := range report.Violations {
		f := cli.Finding{
			Level: cli.LevelError, What: strings.TrimSpace("session " + string(v.SessionID)), Detail: v.Detail,
			Fix: "keep a copy of " + dirs.Data + " and report it",
		}
		switch v.Invariant {
		case check.Readable:
			f.Fix = salvageFix
		case check.Parent, check.Resting:
			f.Fix = "run cairn fsck --repair while no other cairn works; if this stays, " + f.Fix
		}
		found = append(found, f)
	}
	found = append(found, examineAudit(ctx, dirs)...)
	return append(found, examineBlobs(ctx, dirs)...), nil
}
