package v1

import (
	"context"
	"errors"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/httpio"
)

// settingsHandlers reads and changes the configuration.
type settingsHandlers struct{ *dependencies }

// members are members of a configuration.
type members = map[string]jsontext.Value

func (h settingsHandlers) getGlobal(ctx context.Context, _ struct{}) (members, error) {
	return h.Backend.UserConfig(ctx)
}

// update changes the user's configuration, where OpenCode writes a file into the directory: a project's file may not
// set most members, and a request does not ask for a new file there. The response is the body, as in OpenCode.
func (h settingsHandlers) update(ctx context.Context, in locationBody[members]) (members, error) {
	l, err := h.Backend.Location(ctx, in.Location.Location)
	if err != nil {
		return nil, err
	}
	sent, err := h.changeSettings(ctx, l.settings(), in.Body)
	if err != nil {
		return nil, err
	}
	h.notices.publishDisposed(l)
	return withoutNulls(sent), nil
}

// updateGlobal tells every stream to read the configuration again.
func (h settingsHandlers) updateGlobal(ctx context.Context, in struct {
	Location optionalLocation
	Body     members `body:"required"`
},
) (members, error) {
	shown, err := h.Backend.UserConfig(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := h.changeSettings(ctx, shown, in.Body); err != nil {
		return nil, err
	}
	h.notices.publishGlobalDisposed(h.findClientLocation(ctx, in.Location))
	return h.Backend.UserConfig(ctx)
}

// changeSettings stores what differs from the configuration that the client was shown, and returns the members that it
// sent.
func (h settingsHandlers) changeSettings(ctx context.Context, shown, sent members) (members, error) {
	if sent == nil {
		return nil, httpio.NewInvalid("body", "", "the body must be an object")
	}
	sent = opencode.OnlyConfig(sent)
	err := h.Backend.Configure(ctx, opencode.ConfigChanges(shown, sent))
	if e, ok := errors.AsType[*config.Error](err); ok {
		err = e.Unwrap() // the body is wrong, not a file
	}
	return sent, httpio.WithPart("body", err)
}

// withoutNulls removes members that are null. Null removes a member from a configuration.
func withoutNulls(m members) members {
	out := members{}
	for name, value := range m {
		var inner members
		switch {
		case value.Kind() == 'n':
			continue
		case value.Kind() == '{' && json.Unmarshal(value, &inner) == nil:
			if b, err := json.Marshal(withoutNulls(inner), json.Deterministic(true)); err == nil {
				value = b
			}
		}
		out[name] = value
	}
	return out
}

// optionalLocation is the location of a request that is served without one, too.
type optionalLocation struct{ r *http.Request }

// DecodeRequest implements operation.Decoder.
func (o *optionalLocation) DecodeRequest(r *http.Request) error {
	o.r = r
	return nil
}

// findClientLocation returns the location of a request, nil if it has none.
func (h settingsHandlers) findClientLocation(ctx context.Context, o optionalLocation) *Location {
	at, _, err := h.findLocation(o.r)
	if err != nil {
		return nil
	}
	l, err := h.Backend.Location(ctx, at)
	if err != nil {
		return nil
	}
	return l
}
