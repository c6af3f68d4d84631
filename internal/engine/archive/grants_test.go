package archive

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/session"
)

// An event without grants stays as it is, byte for byte; of the others only the grants go.
func TestDropGrants(t *testing.T) {
	allow := session.Rule{Action: "*", Resource: "*", Effect: session.Allow}
	deny := session.Rule{Action: "bash", Resource: "*", Effect: session.Deny}
	task := func(p session.AskPolicy) session.Job {
		return session.Job{ID: "job_1", Task: &session.TaskJob{Asks: p}}
	}
	budget := &session.Budget{Turns: 3}
	tests := map[string]struct{ with, without session.EventData }{
		"session with rules": {
			&session.Created{Info: session.Session{ID: "ses_a", Permission: []session.Rule{allow, deny}, Budget: budget}},
			&session.Created{Info: session.Session{ID: "ses_a", Permission: []session.Rule{deny}, Budget: budget}},
		},
		"open session": {
			&session.Created{Info: session.Session{ID: "ses_a", Open: true, Contract: session.ContractV2}},
			&session.Created{Info: session.Session{ID: "ses_a"}},
		},
		"session with a task": {
			&session.Created{Info: session.Session{ID: "ses_a", Jobs: []session.Job{task("allow")}}},
			&session.Created{Info: session.Session{ID: "ses_a", Jobs: []session.Job{task("")}}},
		},
		"rules": {
			&session.PermissionSet{Rules: []session.Rule{deny, allow}}, &session.PermissionSet{Rules: []session.Rule{deny}},
		},
		"admitted": {
			&session.PromptAdmitted{MessageID: "msg_1", Asks: "allow"}, &session.PromptAdmitted{MessageID: "msg_1"},
		},
		"promoted": {&session.Prompted{MessageID: "msg_1", Asks: "edits"}, &session.Prompted{MessageID: "msg_1"}},
		"job":      {&session.JobStarted{Job: task("allow")}, &session.JobStarted{Job: task("")}},

		"only denials":   {with: &session.PermissionSet{Rules: []session.Rule{deny}}},
		"policy denies":  {with: &session.Prompted{MessageID: "msg_1", Asks: "deny"}},
		"plain session":  {with: &session.Created{Info: session.Session{ID: "ses_a", Budget: budget, Sandbox: "strict"}}},
		"command":        {with: &session.JobStarted{Job: session.Job{ID: "job_1"}}},
		"reply of a day": {with: &session.PermissionReplied{AskID: "per_1", Reply: session.ReplyAlways}},
	}
	for name, tt := range tests {
		row, err := eventlog.Encode(session.Event{ID: "evt_1", SessionID: "ses_a", Version: 1, Data: tt.with})
		if err != nil {
			t.Fatal(err)
		}
		row.Private = []byte(`{"answer":{"finish":"stop"}}`)
		got, dropped, err := dropGrants(row)
		if err != nil || dropped != (tt.without != nil) || !bytes.Equal(got.Private, row.Private) {
			t.Errorf("%s: dropped %t, private part %s, %v", name, dropped, got.Private, err)
		}
		want := row
		if tt.without != nil {
			if want, err = eventlog.Encode(session.Event{ID: "evt_1", SessionID: "ses_a", Version: 1, Data: tt.without}); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(got.Data, want.Data) {
			t.Errorf("%s: %s, want %s", name, got.Data, want.Data)
		}
	}
}

// Contents are named by files of the worktree that are not protected.
func TestListContents(t *testing.T) {
	change := func(path session.FilePath, blob string) session.FileChange {
		return session.FileChange{Path: path, After: session.PathState{Blob: blob, Mode: session.ModeFile}}
	}
	files := []session.FileChange{
		change("a/b.txt", "1"), change("/etc/passwd", "2"), change("../x", "3"), change(".git/hooks/pre-commit", "4"),
		change("n\xff", "5"), change("a/../../x", "6"),
	}
	module := session.FileChange{Path: "m", After: session.PathState{Blob: "7", Mode: session.ModeSubmodule}}
	tests := map[string]struct {
		event session.EventData
		want  []string
	}{
		"writes":  {&session.FilesWriting{Files: append(files, module)}, []string{"1", "5"}},
		"command": {&session.TreeChanged{Files: files[:1], Transient: files[1:5]}, []string{"1", "5"}},
		"revert": {&session.RevertStaged{Revert: session.Revert{
			Files: []session.RevertedFile{
				{Path: "a", From: session.PathState{Blob: "8", Mode: session.ModeFile}},
				{Path: "/a", From: session.PathState{Blob: "9", Mode: session.ModeFile}},
			},
			Kept: []session.KeptFile{{Path: "k", State: session.PathState{Blob: "10", Mode: session.ModeFile}}},
		}}, []string{"8", "10"}},
		"others": {&session.Renamed{Title: "x"}, nil},
	}
	for name, tt := range tests {
		if got := listContents(tt.event); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// An upload goes on where it was cut off, and is bounded.
func TestCheckPiece(t *testing.T) {
	digest := "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for name, p := range map[string]Piece{
		"no checksum": {Size: 9},
		"path":        {SHA256: "../" + digest[3:], Size: 9},
		"upper case":  {SHA256: "A" + digest[1:], Size: 9},
		"empty":       {SHA256: digest},
		"too large":   {SHA256: digest, Size: 9 << 30},
		"behind":      {SHA256: digest, Size: 9, Offset: 9, Data: []byte("x")},
		"before":      {SHA256: digest, Size: 9, Offset: -1, Data: []byte("x")},
		"overflow":    {SHA256: digest, Size: 9, Offset: 1<<63 - 1, Data: []byte("x")},
	} {
		if checkPiece(p) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := checkPiece(Piece{SHA256: digest, Size: 9, Offset: 8, Data: []byte("x")}); err != nil {
		t.Error(err)
	}
}
