package v1

import "net/http"

func placeRoutes() []Route {
	return []Route{
		{get, "/path", "path.get", (*API).paths},
	}
}

// paths says where things are.
func (a *API) paths(w http.ResponseWriter, r *http.Request) error {
	p, err := a.place(r)
	if err != nil {
		return err
	}
	home := a.places.Home()
	return write(w, struct {
		Home      string `json:"home"`
		State     string `json:"state"`
		Config    string `json:"config"`
		Worktree  string `json:"worktree"`
		Directory string `json:"directory"`
	}{home.Home, home.State, home.Config, p.Worktree, p.Directory})
}
