package v1

import (
	"log/slog"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/server/httpio"
)

func logRoutes() []Route {
	return []Route{{post, "/log", "app.log", (*API).logWords}}
}

// logEntry is what a client wants to have in our log.
type logEntry struct {
	Service *string                   `json:"service"`
	Level   string                    `json:"level"`
	Message *string                   `json:"message"`
	Extra   map[string]jsontext.Value `json:"extra"`
}

// logWords writes a client's words into our log.
func (a *API) logWords(w http.ResponseWriter, r *http.Request) error {
	e, err := httpio.Decode[logEntry](r)
	if err != nil {
		return err
	}
	var level slog.Level
	switch {
	case e.Service == nil:
		return httpio.Invalid("body", "service", "service is missing: it must say who logs")
	case e.Message == nil:
		return httpio.Invalid("body", "message", "message is missing")
	case !strings.Contains(" debug info warn error ", " "+e.Level+" ") || level.UnmarshalText([]byte(e.Level)) != nil:
		return httpio.Invalid("body", "level", "level must be one of debug, info, warn, error, got %q", httpio.Clip(e.Level, 40))
	}
	attrs := []any{"service", httpio.Clip(*e.Service, 200)}
	for name, value := range e.Extra {
		attrs = append(attrs, httpio.Clip(name, 100), httpio.Clip(string(value), 1000))
	}
	a.logger.Log(r.Context(), level, httpio.Clip(*e.Message, 4000), attrs...)
	return yes(w)
}
