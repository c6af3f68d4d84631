package v1

import (
	"context"
	"log/slog"
	"net/http"
	"path"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/telemetry"
)

// instanceHandlers describes the server and its locations.
type instanceHandlers struct{ *dependencies }

// health is the response of global.health.
type health struct {
	Healthy bool   `json:"healthy"`
	Version string `json:"version"`
}

// getHealth reports that the server works. A server that can only read does not.
func (h instanceHandlers) getHealth(context.Context, struct{}) (health, error) {
	return health{true, h.Version}, h.Condition()
}

// paths are the response of path.get.
type paths struct {
	Home      string `json:"home"`
	State     string `json:"state"`
	Config    string `json:"config"`
	Worktree  string `json:"worktree"`
	Directory string `json:"directory"`
}

// getPaths says where things are. A missing directory is in the checkout of its nearest parent that exists, as in
// OpenCode, so that a client whose directory was removed learns where it is.
func (h instanceHandlers) getPaths(ctx context.Context, in locationIn) (paths, error) {
	l, err := h.Backend.Location(ctx, in.Location.Location)
	for above := in.Location.Location; err != nil && isDirectoryError(httpio.PublicError(err)); {
		above.Directory = path.Dir(above.Directory)
		if l, err = h.Backend.Location(ctx, above); err == nil {
			l = &Location{Directory: in.Location.Directory, Worktree: l.Worktree}
		} else if path.Dir(above.Directory) == above.Directory {
			l, err = &Location{Directory: in.Location.Directory, Worktree: "/"}, nil
		}
	}
	if err != nil {
		return paths{}, err
	}
	home := h.Backend.UserDirectories()
	return paths{home.Home, home.State, home.Config, l.Worktree, l.Directory}, nil
}

// getProject describes the project of the location.
func (h instanceHandlers) getProject(ctx context.Context, in locationIn) (opencode.Project, error) {
	l, err := h.Backend.Location(ctx, in.Location.Location)
	if err != nil {
		return opencode.Project{}, err
	}
	return h.describeProject(ctx, l)
}

// initRepository creates a git repository in the directory of a location that is in none, and describes its project.
func (h instanceHandlers) initRepository(ctx context.Context, in locationIn) (p opencode.Project, err error) {
	l, err := h.Backend.Location(ctx, in.Location.Location)
	switch {
	case err != nil:
		return p, err
	case l.Git:
		return h.describeProject(ctx, l)
	}
	if err := l.Projects.InitRepository(ctx, l.Project); err != nil {
		return p, err
	}
	if l, err = h.Backend.Location(ctx, in.Location.Location); err == nil {
		p, err = h.describeProject(ctx, l)
		h.notices.publishDisposed(l)
	}
	return p, err
}

func (h instanceHandlers) projectOf(l *Location) opencode.Project {
	p := opencode.Project{
		ID: l.ProjectID, Worktree: l.Worktree, Sandboxes: []string{},
		Time: opencode.ProjectTime{Created: h.started, Updated: h.started},
	}
	if l.Git {
		p.VCS = "git"
	}
	return p
}

// disposeInstance tells the streams of the location to read it again. The server itself keeps nothing that would have
// to go.
func (h instanceHandlers) disposeInstance(ctx context.Context, in locationIn) (bool, error) {
	l, err := h.Backend.Location(ctx, in.Location.Location)
	if err != nil {
		return false, err
	}
	h.notices.publishDisposed(l)
	return true, nil
}

func (h instanceHandlers) disposeAll(context.Context, struct{}) (bool, error) {
	h.notices.publishGlobalDisposed(nil)
	return true, nil
}

// getApp returns the directories that the first clients of OpenCode read at their start.
func (h instanceHandlers) getApp(ctx context.Context, in locationIn) (map[string]any, error) {
	l, err := h.Backend.Location(ctx, in.Location.Location)
	if err != nil {
		return nil, err
	}
	home := h.Backend.UserDirectories()
	return map[string]any{
		"hostname": "", "git": l.Git, "time": map[string]int64{"initialized": h.started},
		"path": map[string]string{
			"home": home.Home, "config": home.Config, "data": home.State, "state": home.State,
			"root": l.Worktree, "cwd": l.Directory,
		},
	}, nil
}

// logEntry is a line that a client adds to the log.
type logEntry struct {
	Service *string                   `json:"service"`
	Level   string                    `json:"level"`
	Message *string                   `json:"message"`
	Extra   map[string]jsontext.Value `json:"extra,omitzero"`
}

var logLevels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

// Validate implements operation.Validator.
func (e *logEntry) Validate() error {
	_, known := logLevels[e.Level]
	switch {
	case e.Service == nil:
		return httpio.NewInvalid("body", "service", "service is missing: name the service that logs")
	case e.Message == nil:
		return httpio.NewInvalid("body", "message", "message is missing")
	case !known:
		return invalidChoice("level", e.Level, "debug", "info", "warn", "error")
	}
	return nil
}

// writeLog writes a line of a client to the log.
func (h instanceHandlers) writeLog(ctx context.Context, in struct {
	Body logEntry `body:"required"`
},
) (bool, error) {
	e := in.Body
	attrs := []any{"service", session.ClipText(*e.Service, 200)}
	for name, value := range e.Extra {
		attrs = append(attrs, session.ClipText(name, 100), session.ClipText(string(value), 1000))
	}
	h.Logger.Log(ctx, logLevels[e.Level], session.ClipText(*e.Message, 4000), attrs...)
	return true, nil
}

// writeDocument answers with the document of the contract.
func (d *dependencies) writeDocument(context.Context, struct{}) (operation.Func[jsontext.Value], error) {
	doc, err := d.document()
	return func(w http.ResponseWriter, _ *http.Request) error {
		return httpio.WriteEncoded(w, http.StatusOK, doc)
	}, err
}

// getMetrics answers with the metrics of the process in the text form of Prometheus.
func (h instanceHandlers) getMetrics(context.Context, struct{}) (operation.Func[string], error) {
	if h.WriteMetrics == nil {
		return nil, session.Errorf(session.CodeNotFound,
			"metrics are not served; set telemetry.prometheus in your configuration and restart cairn serve")
	}
	return func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Content-Type", telemetry.PrometheusType)
		return h.WriteMetrics(w)
	}, nil
}
