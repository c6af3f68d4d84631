package admit

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

func TestGuessMime(t *testing.T) {
	for uri, want := range map[string]string{
		"data:image/png;base64,AA==":   "image/png",
		"data:;base64,AA==":            "text/plain",
		"data:,hello":                  "text/plain",
		"file:///w/a.png":              "image/png",
		"file:///w/a.html?start=1":     "text/html",
		"file:///w/":                   "application/x-directory",
		"file:///w/unknown.cairnthing": "application/octet-stream",
	} {
		if got := guessMime(uri); got != want {
			t.Errorf("%s: got %s, want %s", uri, got, want)
		}
	}
}

func TestLocalPath(t *testing.T) {
	for uri, want := range map[string]string{
		"file:///w/a%20b.txt":       "/w/a b.txt",
		"file://localhost/w/a.txt":  "/w/a.txt",
		"file://elsewhere/w/a.txt":  "",
		"file:a.txt":                "",
		"file:///w/a%00.txt":        "",
		"https://example.com/a.txt": "",
	} {
		if got, ok := localPath(uri); got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %v; want %q", uri, got, ok, want)
		}
	}
}

func TestIsSameCreation(t *testing.T) {
	request := CreateRequest{ID: "ses_a", Agent: "build", Title: " A title ", Budget: &session.Budget{Turns: 3}}
	created := session.Session{
		ID: "ses_a", Agent: "build", Title: " A title ", TitledBy: "user", Budget: &session.Budget{Turns: 3, Tokens: 9},
	}
	if !isSameCreation(created, request) {
		t.Error("a limit that the request leaves open must not matter")
	}
	for name, change := range map[string]func(*CreateRequest){
		"agent":  func(r *CreateRequest) { r.Agent = "plan" },
		"title":  func(r *CreateRequest) { r.Title = "Another" },
		"model":  func(r *CreateRequest) { r.Model = &session.ModelRef{ProviderID: "p", ID: "m"} },
		"budget": func(r *CreateRequest) { r.Budget = &session.Budget{Turns: 4} },
		"rules": func(r *CreateRequest) {
			r.Permission = []session.Rule{{Action: "*", Resource: "*", Effect: session.Ask}}
		},
		"open":   func(r *CreateRequest) { r.Open = true },
		"parent": func(r *CreateRequest) { r.ParentID = "ses_b" },
	} {
		other := request
		change(&other)
		if isSameCreation(created, other) {
			t.Errorf("a request with another %s counts as the same", name)
		}
	}
}
