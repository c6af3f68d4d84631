package v1

import "net/http"

func globalRoutes() []Route {
	return []Route{
		{get, "/global/health", "global.health", (*API).health},
	}
}

// health says that the server works. One that can only be read from does not.
func (a *API) health(w http.ResponseWriter, _ *http.Request) error {
	if err := a.condition(); err != nil {
		return err
	}
	return write(w, health{true, a.version})
}

type health struct {
	Healthy bool   `json:"healthy"`
	Version string `json:"version"`
}
