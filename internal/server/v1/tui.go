package v1

import (
	"context"
	"math"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// tuiHandlers passes messages of clients on to the terminal interfaces that listen to the streams of the location.
type tuiHandlers struct{ *dependencies }

// The kinds of notices that terminal interfaces listen to.
const (
	kindAppend  = "tui.prompt.append"
	kindCommand = "tui.command.execute"
	kindToast   = "tui.toast.show"
	kindSelect  = "tui.session.select"
)

// tuiKinds are the kinds that clients may publish.
var tuiKinds = []string{kindAppend, kindCommand, kindToast, kindSelect}

// publish sends a notice to the streams of the location.
func (h tuiHandlers) publish(ctx context.Context, in locationIn, kind string, properties any) (bool, error) {
	l, err := h.Backend.Location(ctx, in.Location.Location)
	if err != nil {
		return false, err
	}
	h.notices.Send(notice{l.Directory, l.ProjectID, kind, properties})
	return true, nil
}

// publishBody returns a handler that publishes its body, completed by complete unless that is nil.
func publishBody[Body any](
	h tuiHandlers, kind string, complete func(Body) Body,
) func(context.Context, locationBody[Body]) (bool, error) {
	return func(ctx context.Context, in locationBody[Body]) (bool, error) {
		if complete != nil {
			in.Body = complete(in.Body)
		}
		return h.publish(ctx, in.locationIn, kind, in.Body)
	}
}

// publishCommand returns a handler that publishes a command of the interface.
func (h tuiHandlers) publishCommand(name string) func(context.Context, locationIn) (bool, error) {
	return func(ctx context.Context, in locationIn) (bool, error) {
		return h.publish(ctx, in, kindCommand, tuiCommand{&name})
	}
}

// tuiText is text to append to the prompt.
type tuiText struct {
	Text *string `json:"text"`
}

// Validate implements operation.Validator.
func (t *tuiText) Validate() error {
	if t.Text == nil {
		return httpio.NewInvalid("body", "text", "text is missing")
	}
	return nil
}

// tuiCommand is a command of the interface.
type tuiCommand struct {
	Command *string `json:"command,omitzero"`
}

// DocumentType implements operation.Documenter: in a request the command is required.
func (tuiCommand) DocumentType() reflect.Type {
	return reflect.TypeFor[struct {
		Command string `json:"command"`
	}]()
}

// Validate implements operation.Validator.
func (c *tuiCommand) Validate() error {
	if c.Command == nil {
		return httpio.NewInvalid("body", "command", "command is missing")
	}
	return nil
}

// legacyCommands maps the names that commands had before they contained dots. Other names without a dot become empty,
// as in OpenCode.
var legacyCommands = map[string]string{
	"session_new": "session.new", "session_share": "session.share", "session_interrupt": "session.interrupt",
	"session_compact": "session.compact", "messages_page_up": "session.page.up", "messages_page_down": "session.page.down",
	"messages_line_up": "session.line.up", "messages_line_down": "session.line.down",
	"messages_half_page_up": "session.half.page.up", "messages_half_page_down": "session.half.page.down",
	"messages_first": "session.first", "messages_last": "session.last", "agent_cycle": "agent.cycle",
}

// withCurrentName replaces a legacy name.
func (c tuiCommand) withCurrentName() tuiCommand {
	if strings.Contains(*c.Command, ".") {
		return c
	}
	if name := legacyCommands[*c.Command]; name != "" {
		return tuiCommand{&name}
	}
	return tuiCommand{}
}

// toast is a message that the interface shows for a while.
type toast struct {
	Title    string         `json:"title,omitzero"`
	Message  *string        `json:"message"`
	Variant  string         `json:"variant" enum:"info,success,warning,error"`
	Duration jsontext.Value `json:"duration,omitzero" is:"number"`
}

// Validate implements operation.Validator.
func (t *toast) Validate() error {
	n, err := strconv.ParseFloat(string(t.Duration), 64)
	switch {
	case t.hasDuration() && (err != nil || n <= 0 || n != math.Trunc(n)):
		return httpio.NewInvalid("body", "duration", "duration must be a whole number of milliseconds, 1 or more")
	case t.Variant != "info" && t.Variant != "success" && t.Variant != "warning" && t.Variant != "error":
		return invalidChoice("variant", t.Variant, "info", "success", "warning", "error")
	case t.Message == nil:
		return httpio.NewInvalid("body", "message", "message is missing")
	}
	return nil
}

func (t *toast) hasDuration() bool { return t.Duration != nil && t.Duration.Kind() != 'n' }

// withDuration sets OpenCode's default duration, five seconds, if the toast has no duration.
func (t toast) withDuration() toast {
	if !t.hasDuration() {
		t.Duration = jsontext.Value("5000")
	}
	return t
}

// tuiSession is a session to show.
type tuiSession struct {
	SessionID session.ID `json:"sessionID"`
}

// Validate implements operation.Validator.
func (t *tuiSession) Validate() error {
	return session.CheckID("sessionID", session.PrefixSession, string(t.SessionID))
}

func (h tuiHandlers) selectSession(ctx context.Context, in locationBody[tuiSession]) (bool, error) {
	if _, err := store.ReadSession(ctx, h.Store, in.Body.SessionID); err != nil {
		return false, err
	}
	return h.publish(ctx, in.locationIn, kindSelect, in.Body)
}

// tuiEvent is an event to publish.
type tuiEvent struct {
	Type       string         `json:"type" enum:"tui.prompt.append,tui.command.execute,tui.toast.show,tui.session.select"`
	Properties jsontext.Value `json:"properties"`
}

// publishEvent publishes an event of one of the kinds of this group. Its properties are validated as the kind requires;
// as in OpenCode, a command may be missing and a session need not exist.
func (h tuiHandlers) publishEvent(ctx context.Context, in locationBody[tuiEvent]) (bool, error) {
	var properties any
	var err error
	switch in.Body.Type {
	case kindAppend:
		properties, err = decodeProperties[tuiText](in.Body.Properties)
	case kindCommand:
		properties, err = decodeProperties[struct {
			Command string `json:"command,omitzero"`
		}](in.Body.Properties)
	case kindToast:
		var t *toast
		if t, err = decodeProperties[toast](in.Body.Properties); err == nil {
			properties = t.withDuration()
		}
	case kindSelect:
		properties, err = decodeProperties[tuiSession](in.Body.Properties)
	default:
		err = invalidChoice("type", in.Body.Type, tuiKinds...)
	}
	if err != nil {
		return false, httpio.WithPart("body", err)
	}
	return h.publish(ctx, in.locationIn, in.Body.Type, properties)
}

func decodeProperties[T any](raw jsontext.Value) (*T, error) {
	v := new(T)
	if raw.Kind() != '{' {
		return v, httpio.NewInvalid("body", "properties", "properties must be an object")
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return v, httpio.NewInvalid("body", "properties", "the properties do not fit this type")
	}
	if x, ok := any(v).(operation.Validator); ok {
		return v, x.Validate()
	}
	return v, nil
}

// control is a request to a terminal interface.
type control struct {
	Path string         `json:"path"`
	Body jsontext.Value `json:"body"`
}

// nextControl waits until the client leaves: neither cairn nor OpenCode sends such requests any more.
func (h tuiHandlers) nextControl(context.Context, locationIn) (operation.Func[control], error) {
	return func(_ http.ResponseWriter, r *http.Request) error {
		ctx, end := h.long.Start(r.Context(), "")
		defer end()
		<-ctx.Done()
		return context.Cause(ctx)
	}, nil
}
