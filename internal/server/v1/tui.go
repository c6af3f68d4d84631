package v1

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

func tuiRoutes() []Route {
	return []Route{
		{post, "/tui/append-prompt", "tui.appendPrompt", (*API).appendPrompt},
		{post, "/tui/open-help", "tui.openHelp", notifyCommand("help.show")},
		{post, "/tui/open-sessions", "tui.openSessions", notifyCommand("session.list")},
		{post, "/tui/open-themes", "tui.openThemes", notifyCommand("session.list")}, // as OpenCode has it
		{post, "/tui/open-models", "tui.openModels", notifyCommand("model.list")},
		{post, "/tui/submit-prompt", "tui.submitPrompt", notifyCommand("prompt.submit")},
		{post, "/tui/clear-prompt", "tui.clearPrompt", notifyCommand("prompt.clear")},
		{post, "/tui/execute-command", "tui.executeCommand", (*API).executeCommand},
		{post, "/tui/show-toast", "tui.showToast", (*API).showToast},
		{post, "/tui/publish", "tui.publish", (*API).publish},
		{post, "/tui/select-session", "tui.selectSession", (*API).selectSession},
		{get, "/tui/control/next", "tui.control.next", (*API).nextControl},
		{post, "/tui/control/response", "tui.control.response", (*API).controlled},
	}
}

// The kinds of notices that terminals listen to.
const (
	kindAppend  = "tui.prompt.append"
	kindCommand = "tui.command.execute"
	kindToast   = "tui.toast.show"
	kindSelect  = "tui.session.select"
)

type tuiText struct {
	Text *string `json:"text"`
}

type tuiCommand struct {
	Command string `json:"command,omitzero"`
}

// toast is a message that a terminal shows for a while.
type toast struct {
	Title    string         `json:"title,omitzero"`
	Message  *string        `json:"message"`
	Variant  string         `json:"variant" enum:"info,success,warning,error"`
	Duration jsontext.Value `json:"duration,omitzero" is:"number"`
}

type tuiSession struct {
	SessionID session.ID `json:"sessionID"`
}

// notify tells the streams of the request's directory.
func (a *API) notify(w http.ResponseWriter, r *http.Request, kind string, properties any) error {
	p, err := a.place(r)
	if err != nil {
		return err
	}
	a.notices.tell(notice{p.Directory, p.ProjectID, kind, properties})
	return yes(w)
}

func notifyCommand(name string) handler {
	return func(a *API, w http.ResponseWriter, r *http.Request) error {
		return a.notify(w, r, kindCommand, tuiCommand{name})
	}
}

func (a *API) appendPrompt(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[tuiText](r)
	if err == nil {
		err = b.check()
	}
	if err != nil {
		return err
	}
	return a.notify(w, r, kindAppend, b)
}

func (t tuiText) check() error {
	if t.Text == nil {
		return httpio.Invalid("body", "text", "text is missing")
	}
	return nil
}

// older are the names that commands had before they had dots. Another one without a dot becomes none, as in OpenCode.
var older = map[string]string{
	"session_new": "session.new", "session_share": "session.share", "session_interrupt": "session.interrupt", "session_compact": "session.compact",
	"messages_page_up": "session.page.up", "messages_page_down": "session.page.down", "messages_line_up": "session.line.up",
	"messages_line_down": "session.line.down", "messages_half_page_up": "session.half.page.up", "messages_half_page_down": "session.half.page.down",
	"messages_first": "session.first", "messages_last": "session.last", "agent_cycle": "agent.cycle",
}

func (a *API) executeCommand(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[struct {
		Command *string `json:"command"`
	}](r)
	if err != nil {
		return err
	}
	if b.Command == nil {
		return httpio.Invalid("body", "command", "command is missing")
	}
	name := *b.Command
	if !strings.Contains(name, ".") {
		name = older[name]
	}
	return a.notify(w, r, kindCommand, tuiCommand{name})
}

func (a *API) showToast(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[toast](r)
	if err == nil {
		err = b.check()
	}
	if err != nil {
		return err
	}
	return a.notify(w, r, kindToast, b.timed())
}

// timed is the message with how long it is shown: five seconds, as OpenCode shows one of which nothing is said.
func (t toast) timed() toast {
	if t.Duration == nil || t.Duration.Kind() == 'n' {
		t.Duration = jsontext.Value("5000") // milliseconds
	}
	return t
}

func (t toast) check() error {
	if n, err := strconv.ParseFloat(string(t.Duration), 64); t.Duration != nil && t.Duration.Kind() != 'n' && (err != nil || n <= 0 || n != math.Trunc(n)) {
		return httpio.Invalid("body", "duration", "duration must be a whole number of milliseconds, 1 or more")
	}
	switch t.Variant {
	case "info", "success", "warning", "error":
	default:
		return httpio.Invalid("body", "variant", "variant must be one of info, success, warning, error, got %q", httpio.Clip(t.Variant, 40))
	}
	if t.Message == nil {
		return httpio.Invalid("body", "message", "message is missing")
	}
	return nil
}

// published is what a client wants to be passed on.
type published struct {
	Type       string         `json:"type" enum:"tui.prompt.append,tui.command.execute,tui.toast.show,tui.session.select"`
	Properties jsontext.Value `json:"properties"`
}

// publish passes on one of the four kinds, checked as the operation of its own checks it.
func (a *API) publish(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[published](r)
	if err != nil {
		return err
	}
	var v any
	switch b.Type {
	case kindAppend:
		v, err = property[tuiText](b.Properties, tuiText.check)
	case kindCommand:
		v, err = property[tuiCommand](b.Properties, nil)
	case kindToast:
		var t toast
		t, err = property[toast](b.Properties, toast.check)
		v = t.timed()
	case kindSelect:
		v, err = property[tuiSession](b.Properties, tuiSession.check)
	default:
		err = httpio.Invalid("body", "type", "type must be one of %s, %s, %s, %s, got %q", kindAppend, kindCommand, kindToast, kindSelect, httpio.Clip(b.Type, 40))
	}
	if err != nil {
		return err
	}
	return a.notify(w, r, b.Type, v)
}

func property[T any](raw jsontext.Value, check func(T) error) (v T, err error) {
	if raw.Kind() != '{' {
		return v, httpio.Invalid("body", "properties", "properties must be an object")
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, httpio.Invalid("body", "properties", "properties are not those of this type")
	}
	if check != nil {
		err = check(v)
	}
	return v, err
}

func (t tuiSession) check() error {
	return httpio.WithPart("body", session.CheckID("sessionID", session.PrefixSession, string(t.SessionID)))
}

func (a *API) selectSession(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[tuiSession](r)
	if err == nil {
		err = b.check()
	}
	if err != nil {
		return err
	}
	if _, err := view(r.Context(), a, func(rd store.Reader) (*session.Session, error) { return mustSession(rd, b.SessionID) }); err != nil {
		return err
	}
	return a.notify(w, r, kindSelect, b)
}

// control is what a terminal would be asked to do.
type control struct {
	Path string         `json:"path"`
	Body jsontext.Value `json:"body"`
}

// nextControl waits: nothing asks terminals to be controlled in this way any more, here as in OpenCode.
func (a *API) nextControl(_ http.ResponseWriter, r *http.Request) error {
	if _, err := a.locate(r); err != nil {
		return err
	}
	ctx, end := a.long.Start(r, "")
	defer end()
	<-ctx.Done()
	return context.Cause(ctx)
}

// controlled takes the answer to what nobody asked.
func (a *API) controlled(w http.ResponseWriter, r *http.Request) error {
	if _, err := httpio.Decode[jsontext.Value](r); err != nil {
		return err
	}
	return yes(w)
}
