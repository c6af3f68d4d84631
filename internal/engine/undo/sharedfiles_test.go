package undo_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// TestSharedFiles plays changes of two sessions of a project, and checks which files are named to both.
func TestSharedFiles(t *testing.T) {
	state := func(content string) session.PathState {
		if content == "" {
			return session.PathState{}
		}
		return session.PathState{Blob: content, Mode: session.ModeFile}
	}
	type change struct {
		id            session.ID
		path          session.FilePath
		before, after string
	}
	for name, test := range map[string]struct {
		changes []change
		child   bool // ses_d is a subagent's
		other   bool // ses_d is of another project
		want    []session.FilePath
	}{
		"in two worktrees": {
			changes: []change{{"ses_c", "f", "1", "2"}, {"ses_d", "f", "1", "3"}},
			want:    []session.FilePath{"f"},
		},
		"new in both": {
			changes: []change{{"ses_c", "f", "", "2"}, {"ses_d", "f", "", "3"}},
			want:    []session.FilePath{"f"},
		},
		"in turns": {
			changes: []change{{"ses_c", "f", "1", "2"}, {"ses_d", "f", "2", "3"}, {"ses_c", "f", "3", "4"}},
			want:    []session.FilePath{"f"},
		},
		"each once": {
			changes: []change{
				{"ses_c", "f", "1", "2"},
				{"ses_c", "g", "1", "2"},
				{"ses_d", "f", "1", "3"},
				{"ses_d", "g", "1", "3"},
				{"ses_c", "f", "2", "4"},
			},
			want: []session.FilePath{"f", "g"},
		},
		"built on":   {changes: []change{{"ses_c", "f", "1", "2"}, {"ses_d", "f", "2", "3"}}},
		"built back": {changes: []change{{"ses_d", "f", "1", "2"}, {"ses_c", "f", "2", "3"}}},
		"the same":   {changes: []change{{"ses_c", "f", "1", "2"}, {"ses_d", "f", "1", "2"}}},
		"taken back": {changes: []change{{"ses_c", "f", "1", "2"}, {"ses_c", "f", "2", "1"}, {"ses_d", "f", "1", "3"}}},
		"two files":  {changes: []change{{"ses_c", "f", "1", "2"}, {"ses_d", "g", "1", "3"}}},
		"copied by a fork": {
			changes: []change{{"ses_c", "f", "1", "2"}, {"ses_d", "f", "1", "2"}, {"ses_d", "f", "2", "3"}},
		},
		"a subagent":      {changes: []change{{"ses_c", "f", "1", "2"}, {"ses_d", "f", "1", "3"}}, child: true},
		"another project": {changes: []change{{"ses_c", "f", "1", "2"}, {"ses_d", "f", "1", "3"}}, other: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, 1)
			m.check(m.journal.Store.Update(m.ctx, store.Durable, func(tx store.Tx) error {
				return errors.Join(tx.PutProject(store.Project{ID: "prj_1", Path: "/p"}),
					tx.PutProject(store.Project{ID: "prj_2", Path: "/q"}))
			}))
			now := m.journal.Now().UnixMilli()
			// Both sessions are of one record, in directories of their own.
			for id, dir := range map[session.ID]string{"ses_c": "/p", "ses_d": "/w"} {
				info := session.Session{
					ID: id, RecordID: "prj_1", Title: "T", Location: session.Location{Directory: dir},
					Time: session.SessionTime{Updated: now},
				}
				if id == "ses_d" && test.child {
					info.ParentID = "ses_c"
				}
				if id == "ses_d" && test.other {
					info.RecordID = "prj_2"
				}
				m.append(id, &session.Created{Info: info})
			}
			for i, c := range test.changes {
				prompt := session.MessageID(fmt.Sprint("msg_", i))
				m.append(c.id, &session.MessageImported{Message: jsontext.Value(
					`{"id":"` + prompt + `","type":"user","text":"x","time":{"created":1}}`,
				)})
				m.append(c.id, &session.FilesWriting{
					MessageID: "msg_t", PromptID: prompt, CallID: "call",
					Files: []session.FileChange{{Path: c.path, Before: state(c.before), After: state(c.after)}},
				})
				m.recorder.UpdateDiff(m.ctx, c.id, prompt, m.files)
				m.check(m.recorder.AwaitSession(m.ctx, c.id))
			}
			for id, other := range map[session.ID]session.SharedFiles{
				"ses_c": {SessionID: "ses_d", Title: "T", Directory: "/w", Files: test.want, Added: 1},
				"ses_d": {SessionID: "ses_c", Title: "T", Directory: "/p", Files: test.want, Added: 1},
			} {
				var want []session.SharedFiles
				if test.want != nil {
					want = append(want, other)
				}
				s, err := store.Query(m.ctx, m.journal.Store, func(r store.Reader) (*session.Session, error) {
					return store.FindSession(r, id)
				})
				m.check(err)
				if diff := cmp.Diff(want, session.ReadSharedFiles(s.Entries), cmpopts.IgnoreFields(session.SharedFiles{}, "Time")); diff != "" {
					t.Errorf("%s -want +got:\n%s", id, diff)
				}
			}
		})
	}
}
