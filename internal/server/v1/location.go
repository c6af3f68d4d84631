package v1

import (
	"net/http"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

func placeRoutes() []Route {
	return []Route{
		{get, "/path", "path.get", (*API).paths},
		{get, "/project", "project.list", (*API).projects},
		{get, "/project/current", "project.current", (*API).project},
		{post, "/project/git/init", "project.initGit", (*API).project},
		{patch, "/project/{projectID}", "project.update", (*API).updateProject},
		{get, "/project/{projectID}/directories", "project.directories", (*API).projectDirectories},
		{post, "/instance/dispose", "instance.dispose", (*API).dispose},
		{post, "/global/dispose", "global.dispose", (*API).disposeAll},
		{get, "/app", "", (*API).app},
		{get, "/mode", "", (*API).agents},
	}
}

// paths says where things are. It looks for nothing, as OpenCode does not: of a directory that is not there it says what it
// says of one outside of any checkout, so that a client whose directory was removed can tell where it is.
func (a *API) paths(w http.ResponseWriter, r *http.Request) error {
	l, err := a.locate(r)
	if err != nil {
		return err
	}
	p, err := a.places.Place(r.Context(), l)
	if missing := httpio.PublicError(err); err != nil && missing.Code == session.CodeInvalid && missing.Field == "directory" {
		p, err = Place{Directory: l.Directory, Worktree: "/"}, nil
	}
	if err != nil {
		return err
	}
	home := a.places.Home()
	return write(w, paths{home.Home, home.State, home.Config, p.Worktree, p.Directory})
}

// paths are where things are.
type paths struct {
	Home      string `json:"home"`
	State     string `json:"state"`
	Config    string `json:"config"`
	Worktree  string `json:"worktree"`
	Directory string `json:"directory"`
}

func (a *API) projects(w http.ResponseWriter, r *http.Request) error {
	p, err := a.place(r)
	if err != nil {
		return err
	}
	return write(w, []opencode.Project{p.project(a)})
}

// project is the one of the location. Also who asks for a repository to be made is told of the project that there is: a
// repository is the user's to make.
func (a *API) project(w http.ResponseWriter, r *http.Request) error {
	p, err := a.place(r)
	if err != nil {
		return err
	}
	return write(w, p.project(a))
}

func (p Place) project(a *API) opencode.Project {
	v := opencode.Project{ID: p.ProjectID, Worktree: p.Worktree, Sandboxes: []string{}, Time: opencode.ProjectTime{Created: a.started, Updated: a.started}}
	if p.Git {
		v.VCS = "git"
	}
	return v
}

// updateProject takes no name, no icon and no commands: nothing of a project is kept here.
func (a *API) updateProject(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.DecodeOptional[projectChange](r)
	if err == nil {
		err = a.current(r)
	}
	switch {
	case err != nil:
		return err
	case b.Name != "":
		return notOfProjects("name")
	case len(b.Icon) > 0:
		return notOfProjects("icon")
	case len(b.Commands) > 0:
		return notOfProjects("commands")
	default:
		return a.project(w, r)
	}
}

func notOfProjects(field string) error {
	return httpio.Invalid("body", field, "%s cannot be kept: a project is its repository", field)
}

func (a *API) projectDirectories(w http.ResponseWriter, r *http.Request) error {
	p, err := a.place(r)
	if err != nil {
		return err
	}
	if r.PathValue("projectID") != string(p.ProjectID) {
		return write(w, []projectDirectory{})
	}
	return write(w, []projectDirectory{{p.Worktree}})
}

type projectDirectory struct {
	Directory string `json:"directory"`
}

// current refuses projects that are not that of the location.
func (a *API) current(r *http.Request) error {
	p, err := a.place(r)
	if id := r.PathValue("projectID"); err == nil && id != string(p.ProjectID) {
		err = session.NotFound("project", id)
	}
	return err
}

// dispose has nothing to do, for what is read of a location is read again when it changed; but clients read again when
// they are told.
func (a *API) dispose(w http.ResponseWriter, r *http.Request) error {
	p, err := a.place(r)
	if err != nil {
		return err
	}
	a.disposed(p)
	return yes(w)
}

func (a *API) disposed(p Place) {
	a.notices.tell(notice{p.Directory, p.ProjectID, kindDisposed, disposedPlace{p.Directory}})
}

// disposedAll tells all streams; p is where the client is, the zero Place if it does not say.
func (a *API) disposedAll(p Place) {
	a.notices.tell(notice{p.Directory, p.ProjectID, kindGlobalDisposed, nothingSaid{}})
}

// disposedPlace says what is to be read again.
type disposedPlace struct {
	Directory string `json:"directory"`
}

func (a *API) disposeAll(w http.ResponseWriter, _ *http.Request) error {
	a.disposedAll(Place{})
	return yes(w)
}

// app is what OpenCode's first clients asked for.
func (a *API) app(w http.ResponseWriter, r *http.Request) error {
	p, err := a.place(r)
	if err != nil {
		return err
	}
	home := a.places.Home()
	return write(w, map[string]any{
		"hostname": "", "git": p.Git, "time": map[string]int64{"initialized": a.started},
		"path": map[string]string{"home": home.Home, "config": home.Config, "data": home.State, "state": home.State, "root": p.Worktree, "cwd": p.Directory},
	})
}
