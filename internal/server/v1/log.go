package v1

import (
	"log/slog"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/server/exchange"
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
	e, err := exchange.Decode[logEntry](r)
	if err != nil {
		return err
	}
	var level slog.Level
	switch {
	case e.Service == nil:
		return exchange.Bad("body", "service", "service is missing: it must say who logs")
	case e.Message == nil:
		return exchange.Bad("body", "message", "message is missing")
	case !strings.Contains(" debug info warn error ", " "+e.Level+" ") || level.UnmarshalText([]byte(e.Level)) != nil:
		return exchange.Bad("body", "level", "level must be one of debug, info, warn, error, got %q", exchange.Clip(e.Level, 40))
	}
	attrs := []any{"service", exchange.Clip(*e.Service, 200)}
	for name, value := range e.Extra {
		attrs = append(attrs, exchange.Clip(name, 100), exchange.Clip(string(value), 1000))
	}
	a.logger.Log(r.Context(), level, exchange.Clip(*e.Message, 4000), attrs...)
	return yes(w)
}
