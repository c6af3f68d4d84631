package v1_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/transfer"
)

// shownMessage is a message of V1 with what decides about compactions.
type shownMessage struct {
	Info struct {
		ID       string `json:"id"`
		Role     string `json:"role"`
		ParentID string `json:"parentID"`
		Summary  any    `json:"summary"`
		Finish   string `json:"finish"`
		Error    any    `json:"error"`
	} `json:"info"`
	Parts []struct {
		Type        string `json:"type"`
		TailStartID string `json:"tail_start_id"`
	} `json:"parts"`
}

// isSummary reports whether the message is a completed summary.
func (m *shownMessage) isSummary() bool {
	return m.Info.Role == "assistant" && m.Info.Summary == true && m.Info.Finish != "" && m.Info.Error == nil
}

// tail returns where the tail of the message's compaction begins.
func (m *shownMessage) tail() (id string, compacts bool) {
	for _, p := range m.Parts {
		if p.Type == "compaction" {
			return p.TailStartID, true
		}
	}
	return "", false
}

// filterCompacted is OpenCode's selection of what a model sees: from the newest message back to the newest completed
// compaction, and on to the beginning of its tail, the compaction first.
func filterCompacted(ms []shownMessage) (ids []string) {
	completed, until := map[string]bool{}, ""
	newest := -1 // the request of the newest completed compaction
	from := 0
	for i := len(ms) - 1; i >= 0; i-- {
		m := &ms[i]
		if until != "" {
			if m.Info.ID == until {
				from = i
				break
			}
			continue
		}
		tail, compacts := m.tail()
		if compacts && completed[m.Info.ID] {
			if newest = i; tail == "" {
				from = i
				break
			}
			until = tail
			continue
		}
		if m.isSummary() {
			completed[m.Info.ParentID] = true
		}
	}
	if until != "" { // the compaction goes before its tail
		ids = append(ids, ms[newest].Info.ID, ms[newest+1].Info.ID)
	}
	for i := from; i < len(ms); i++ {
		if !slices.Contains(ids, ms[i].Info.ID) {
			ids = append(ids, ms[i].Info.ID)
		}
	}
	return ids
}

// randomDocument is a session of OpenCode with turns and compactions, of which some failed.
func randomDocument(r *rand.Rand, id string) string {
	n, out, turns := 0, []string{}, []string{}
	newID := func() string { n++; return fmt.Sprintf("msg_%s%04d", id[4:], n) }
	add := func(id, info, part string) {
		out = append(out, fmt.Sprintf(`{"info":{"id":%q,"sessionID":"SESSION",%s},"parts":[{"id":"prt_%s",
			"sessionID":"SESSION","messageID":%[1]q,%[4]s}]}`, id, info, id[4:], part))
	}
	ask := func(id, part string) {
		add(id, fmt.Sprintf(`"role":"user","time":{"created":%d},"agent":"build","model":
			{"providerID":"mock","modelID":"main"}`, n), part)
	}
	answer := func(id, parent, more string) {
		add(id, fmt.Sprintf(`"role":"assistant","time":{"created":%d,"completed":%[1]d},"parentID":%q,"mode":"m",
			"agent":"m","modelID":"main","providerID":"mock","path":{"cwd":"/","root":"/"},"cost":0,"tokens":{"input":1,"output":1,
			"reasoning":0,"cache":{"read":0,"write":0}}%s`, n, parent, more), `"type":"text","text":"t"`)
	}
	for range 4 + r.IntN(12) {
		u, a := newID(), newID()
		if r.IntN(3) > 0 || len(turns) == 0 {
			ask(u, `"type":"text","text":"ask"`)
			answer(a, u, `,"finish":"stop"`)
			turns = append(turns, u, a)
			continue
		}
		part := fmt.Sprintf(`"type":"compaction","auto":%t`, r.IntN(2) == 0)
		if r.IntN(2) == 0 {
			part += fmt.Sprintf(`,"tail_start_id":%q`, turns[r.IntN(len(turns))])
		}
		ask(u, part)
		switch r.IntN(4) {
		case 0:
			answer(a, u, `,"summary":true,"finish":"stop","error":{"name":"UnknownError","data":{"message":"no"}}`)
		default:
			answer(a, u, `,"summary":true,"finish":"stop"`)
			turns = nil // a tail crosses no earlier compaction
		}
	}
	return fmt.Sprintf(`{"info":{"id":%q,"slug":"s","projectID":"p","directory":"/","title":"T","version":"1","time":
		{"created":1,"updated":2}},"messages":[%s]}`, id, strings.ReplaceAll(strings.Join(out, ","), "SESSION", id))
}

// A model sees of an imported session what OpenCode's model would see of it.
func TestImportedCompactions(t *testing.T) {
	w := newWorld(t, "", nil)
	c := &api.Client{HTTP: w.client}
	compacted := 0
	for seed := range uint64(40) {
		id := fmt.Sprintf("ses_1fe0%022d", seed)
		doc := randomDocument(rand.New(rand.NewPCG(seed, 0)), id)
		if _, err := transfer.Import(t.Context(), c, "x", strings.NewReader(doc)); err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
		var shown []shownMessage
		var seen struct {
			Data []struct {
				ID   string `json:"id"`
				Type string `json:"type"`
			} `json:"data"`
		}
		for path, to := range map[string]any{
			"/session/" + id + "/message": &shown, "/api/session/" + id + "/context": &seen,
		} {
			if a := w.ask(t, http.MethodGet, path, ""); a.status != 200 || json.Unmarshal([]byte(a.body), to) != nil {
				t.Fatalf("%s: %v", path, a)
			}
		}
		var want, got []string
		for _, m := range filterCompacted(shown) {
			want = append(want, m)
		}
		for _, m := range seen.Data {
			if m.Type == "compaction" { // shown as two messages
				compacted++
				i := slices.IndexFunc(shown, func(s shownMessage) bool { return s.Info.ID == m.ID })
				got = append(got, shown[i].Info.ParentID)
			}
			got = append(got, m.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("seed %d: the model sees\n%v, OpenCode's\n%v", seed, got, want)
		}
	}
	if compacted < 10 {
		t.Errorf("only %d sessions are compacted", compacted)
	}
}
