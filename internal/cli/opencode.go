package cli

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// openCode is the program name under which other programs start cairn in place of OpenCode's command. Under it the
// commands that programs start (serve, run, session list, export, models) print OpenCode's output and exit codes.
const openCode = "opencode"

// openCodeVersion is the OpenCode release whose contract is served.
const openCodeVersion = "1.18.33"

// programName returns the name of a program without its folder and without the suffix of Windows.
func programName(path string) string {
	return strings.TrimSuffix(strings.ToLower(filepath.Base(path)), ".exe")
}

func (a *app) asOpenCode() bool { return a.Name == openCode }

// version is the version that a server reports and stores with its sessions. Programs that start the command as OpenCode
// compare it with OpenCode's.
func (a *app) version() string {
	if a.asOpenCode() {
		return openCodeVersion
	}
	return version().Version
}

// processExitCode is the exit code of the process. OpenCode has two codes, and a denied permission is no failure there.
func (a *app) processExitCode(c exitCode) exitCode {
	switch {
	case !a.asOpenCode() || c == exitInterrupted:
		return c
	case c == exitOK || c == exitDenied:
		return exitOK
	default:
		return exitError
	}
}

// headlessRule is a rule of a session in the words of OpenCode's V1 contract.
type headlessRule struct {
	Permission string `json:"permission"`
	Pattern    string `json:"pattern"`
	Action     string `json:"action"`
}

// createOpenCodeSession creates a session as OpenCode's run does: through the V1 contract, which allows what no rule
// decides, and without questions, which nobody could answer.
func createOpenCodeSession(ctx context.Context, c *api.Client, title string) (session.ID, error) {
	request := struct {
		Title      string         `json:"title,omitzero"`
		Permission []headlessRule `json:"permission"`
	}{title, []headlessRule{{"question", "*", "deny"}, {"plan_enter", "*", "deny"}, {"plan_exit", "*", "deny"}}}
	var created struct {
		ID session.ID `json:"id"`
	}
	err := c.CallV1(ctx, http.MethodPost, "/session", request, &created)
	return created.ID, err
}

// errSessionNotFound is OpenCode's message for an unknown session, which scripts look for.
//
//lint:ignore ST1005 the words are OpenCode's
var errSessionNotFound = errors.New("Session not found")

// openCodeSession is a session as OpenCode's session list prints it for programs.
type openCodeSession struct {
	ID        session.ID        `json:"id"`
	Title     string            `json:"title"`
	Updated   int64             `json:"updated"`
	Created   int64             `json:"created"`
	ProjectID session.ProjectID `json:"projectId"`
	Directory string            `json:"directory"`
}

// printOpenCodeSessionJSON prints the list for programs. OpenCode prints nothing for an empty list.
func (a *app) printOpenCodeSessionJSON(list []*session.Session) error {
	if len(list) == 0 && a.asOpenCode() {
		return nil
	}
	out := []openCodeSession{}
	for _, s := range list {
		out = append(out, openCodeSession{s.ID, s.Title, s.Time.Updated, s.Time.Created, s.ProjectID, s.Location.Directory})
	}
	return a.printJSON(out)
}

// printOpenCodeSessionTable prints the columns of OpenCode's list: id, title and time of the last change.
func (a *app) printOpenCodeSessionTable(list []*session.Session) {
	if len(list) == 0 {
		return
	}
	t := a.table("Session ID", "Title", "Updated")
	t.ruled, t.least = true, []int{20, 25}
	for _, s := range list {
		at := time.UnixMilli(s.Time.Updated)
		updated := at.Format("3:04 PM")
		if now := time.Now(); at.YearDay() != now.YearDay() || at.Year() != now.Year() {
			updated += " · " + at.Format("01/02/2006")
		}
		t.row(string(s.ID), line(strings.TrimSpace(s.Title), 100), updated)
	}
	t.print()
}

// printModelNames prints one name per line, as OpenCode does.
func (a *app) printModelNames(models []api.Model) {
	for _, m := range models {
		a.out.printf("%s\n", harmless(m.Ref().String()))
	}
}

// printVerboseModels prints the name of each model, and the model as OpenCode's V1 contract has it.
func (a *app) printVerboseModels(ctx context.Context, c *api.Client, models []api.Model) error {
	var usable struct {
		Providers []struct {
			ID     string                    `json:"id"`
			Models map[string]jsontext.Value `json:"models"`
		} `json:"providers"`
	}
	if err := c.CallV1(ctx, http.MethodGet, "/config/providers", nil, &usable); err != nil {
		return err
	}
	known := map[string]jsontext.Value{}
	for _, p := range usable.Providers {
		for id, m := range p.Models {
			known[p.ID+"/"+id] = m
		}
	}
	for _, m := range models {
		name := m.Ref().String()
		if model, ok := known[name]; ok {
			a.out.printf("%s\n", harmless(name))
			if err := a.printJSON(model); err != nil {
				return err
			}
		}
	}
	return nil
}
