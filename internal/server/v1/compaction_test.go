package v1_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/client/api"
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
			"agent":"m","modelID":"main","providerID":"mock","path":{"cwd":"/","root":"/"},"cost":0,
			"tokens":{"input":1,"output":1,"reasoning":0,"cache":{"read":0,"write":0}}%s`, n, parent, more), `"type":"text","text":"t"`)
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
		var got []string
		want := filterCompacted(shown)
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

// summaryModel is a provider that answers prompts, and requests for a summary as the test says.
type summaryModel struct {
	mode atomic.Value // "ok", "refuse" or "hang"
}

func (m *summaryModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if !strings.Contains(string(body), "context summarization agent") {
		w.Header().Set("Content-Type", "text/event-stream")
		say(w, map[string]any{"content": "Answered. " + strings.Repeat("more ", 2000)}, "stop")
		return
	}
	switch m.mode.Load() {
	case "refuse":
		http.Error(w, `{"error":{"message":"no summaries today"}}`, http.StatusBadRequest)
	case "hang":
		w.Header().Set("Content-Type", "text/event-stream")
		say(w, map[string]any{"content": "## Goal"}, nil)
		<-r.Context().Done()
	default:
		w.Header().Set("Content-Type", "text/event-stream")
		say(w, map[string]any{"content": "## Goal\n- All."}, "stop")
	}
}

// compactionWorld is a world with a session of two answered prompts.
func compactionWorld(t *testing.T) (w *world, m *summaryModel, id string) {
	t.Helper()
	m = &summaryModel{}
	m.mode.Store("ok")
	srv := httptest.NewServer(m)
	t.Cleanup(srv.Close)
	w = newWorldOf(t, srv.URL, "", nil)
	id = newSession(t, w, `{"title":"T"}`)
	for _, text := range []string{"one", "two"} {
		a := w.ask(t, http.MethodPost, "/session/"+id+"/message", `{"parts":[{"type":"text","text":"`+text+`"}]}`)
		if a.status != 200 {
			t.Fatal(a.body)
		}
	}
	return w, m, id
}

const summarizeBody = `{"providerID":"mock","modelID":"main"}`

// kinds lists the messages of a session: p for a prompt, a for an answer, R for a request for a summary, S for a
// summary.
func kinds(ms []shownMessage) (s string) {
	for i := range ms {
		_, compacts := ms[i].tail()
		switch {
		case compacts:
			s += "R"
		case ms[i].Info.Role == "user":
			s += "p"
		case ms[i].Info.Summary == true:
			s += "S"
		default:
			s += "a"
		}
	}
	return s
}

// A summary is shown as a request and an answer, in lists of every size and alone, until it is undone.
func TestSummarize(t *testing.T) {
	w, _, id := compactionWorld(t)
	at := "/session/" + id
	unknown := w.ask(t, http.MethodPost, at+"/summarize", `{"providerID":"mock","modelID":"mian"}`)
	if unknown.status != 400 || !strings.Contains(unknown.body, "mock/main") {
		t.Errorf("an unknown model: %v", unknown)
	}
	if a := w.ask(t, http.MethodPost, at+"/summarize", summarizeBody); a.status != 200 || a.body != "true" {
		t.Fatalf("%v", a)
	}
	all := get[[]shownMessage](t, w, at+"/message")
	if got := kinds(all); got != "papaRS" || all[5].Info.ParentID != all[4].Info.ID {
		t.Fatalf("%s: %+v", got, all)
	}
	for i := range all {
		if one := get[shownMessage](t, w, at+"/message/"+all[i].Info.ID); !reflect.DeepEqual(one, all[i]) {
			t.Errorf("message %d is %+v", i, one.Info)
		}
	}
	for size := 1; size <= 3; size++ {
		var ids []string
		for cursor := ""; ; {
			a := w.ask(t, http.MethodGet, fmt.Sprintf("%s/message?limit=%d%s", at, size, cursor), "")
			var page []shownMessage
			if err := json.Unmarshal([]byte(a.body), &page); err != nil || len(page) == 0 {
				t.Fatalf("%v: %s", err, a.body)
			}
			for _, m := range slices.Backward(page) {
				ids = append(ids, m.Info.ID)
			}
			next := a.header.Get("X-Next-Cursor")
			if next == "" {
				break
			}
			cursor = "&before=" + next
		}
		slices.Reverse(ids)
		if !slices.EqualFunc(ids, all, func(id string, m shownMessage) bool { return id == m.Info.ID }) {
			t.Errorf("pages of %d have %v", size, ids)
		}
	}
	if a := w.ask(t, http.MethodPost, "/api"+at+"/uncompact", ""); a.status != http.StatusNoContent {
		t.Fatalf("%v", a)
	}
	if got := kinds(get[[]shownMessage](t, w, at+"/message")); got != "papa" {
		t.Errorf("after the undoing there are %s", got)
	}
	if a := w.ask(t, http.MethodPost, "/api"+at+"/uncompact", ""); a.status != http.StatusConflict {
		t.Errorf("undoing nothing: %v", a)
	}
}

// TestSummarizeNothing checks that a session without messages has no summary, and that the streams have nothing of it.
func TestSummarizeNothing(t *testing.T) {
	w, _, _ := compactionWorld(t)
	id := newSession(t, w, `{}`)
	next := w.follow(t, "/event")
	next()
	if a := w.ask(t, http.MethodPost, "/session/"+id+"/summarize", summarizeBody); a.status != 200 || a.body != "true" {
		t.Fatalf("%v", a)
	}
	w.ask(t, http.MethodPatch, "/session/"+id, `{"title":"  Named  "}`)
	if e := next(); !strings.HasPrefix(e, "session.updated") || !strings.Contains(e, `"title":"  Named  "`) {
		t.Errorf("the stream has %s", e)
	}
}

// TestSummarizeNamesItsWriter checks that the prompt for a summary has the model that the request names, and not the
// session's.
func TestSummarizeNamesItsWriter(t *testing.T) {
	w, _, id := compactionWorld(t)
	at := "/session/" + id
	body := `{"variant":"high","parts":[{"type":"text","text":"three"}]}`
	if a := w.ask(t, http.MethodPost, at+"/message", body); a.status != 200 {
		t.Fatal(a.body)
	}
	if a := w.ask(t, http.MethodPost, at+"/summarize", summarizeBody); a.status != 200 || a.body != "true" {
		t.Fatalf("%v", a)
	}
	ms := get[[]struct {
		Info struct {
			Role  string `json:"role"`
			Model struct {
				Variant string `json:"variant"`
			} `json:"model"`
		} `json:"info"`
	}](t, w, at+"/message")
	if prompt, request := ms[4].Info, ms[6].Info; prompt.Model.Variant != "high" || request.Role != "user" ||
		request.Model.Variant != "" {
		t.Errorf("the prompt is %+v, the request %+v", prompt, request)
	}
}

// With auto, the model goes on after the summary, in a turn that answers a message of the system.
func TestSummarizeAuto(t *testing.T) {
	w, _, id := compactionWorld(t)
	body := strings.Replace(summarizeBody, "{", `{"auto":true,`, 1)
	if a := w.ask(t, http.MethodPost, "/session/"+id+"/summarize", body); a.status != 200 || a.body != "true" {
		t.Fatalf("%v", a)
	}
	a := w.ask(t, http.MethodGet, "/session/"+id+"/message", "")
	var ms []shownMessage
	if err := json.Unmarshal([]byte(a.body), &ms); err != nil {
		t.Fatal(err)
	}
	if got := kinds(ms); got != "papaRSpa" || ms[7].Info.ParentID != ms[6].Info.ID {
		t.Errorf("%s: %+v", got, ms)
	}
	for _, want := range []string{
		`"type":"compaction","auto":true}`,
		`{"compaction_continue":true}`,
	} {
		if !strings.Contains(a.body, want) {
			t.Errorf("%s is not in %.2000s", want, a.body)
		}
	}
}

// Deleting either message of a compaction deletes both.
func TestDeletedSummary(t *testing.T) {
	w, _, id := compactionWorld(t)
	next := w.follow(t, "/event")
	for i := range 2 {
		if a := w.ask(t, http.MethodPost, "/session/"+id+"/summarize", summarizeBody); a.status != 200 {
			t.Fatalf("%v", a)
		}
		ms := get[[]shownMessage](t, w, "/session/"+id+"/message")
		if a := w.ask(t, http.MethodDelete, "/session/"+id+"/message/"+ms[4+i].Info.ID, ""); a.status != 200 {
			t.Fatalf("%v", a)
		}
		if got := kinds(get[[]shownMessage](t, w, "/session/"+id+"/message")); got != "papa" {
			t.Errorf("there are %s", got)
		}
		for _, m := range ms[4:] {
			for !strings.Contains(next(), `message.removed {"sessionID":"`+id+`","messageID":"`+m.Info.ID) {
			}
		}
	}
}

// A summary that fails, or that is interrupted, leaves the session as it was; the streams show why.
func TestFailedSummary(t *testing.T) {
	w, m, id := compactionWorld(t)
	at := "/session/" + id
	next := w.follow(t, "/event")
	m.mode.Store("refuse")
	if a := w.ask(t, http.MethodPost, at+"/summarize", summarizeBody); a.status != 200 || a.body != "true" {
		t.Fatalf("%v", a)
	}
	for _, want := range []string{
		`"summary":true`, "session.updated", "no summaries today", "session.error", "session.idle",
	} {
		for got := next(); !strings.Contains(got, want); got = next() {
			if strings.HasPrefix(got, "session.compacted") || strings.HasPrefix(got, "session.idle") {
				t.Fatalf("%s before %s", got, want)
			}
		}
	}
	if got := kinds(get[[]shownMessage](t, w, at+"/message")); got != "papa" {
		t.Errorf("after the failure there are %s", got)
	}

	m.mode.Store("hang")
	var waits sync.WaitGroup
	waits.Go(func() { w.ask(t, http.MethodPost, at+"/summarize", summarizeBody) })
	for !strings.Contains(next(), `"delta":"## Goal"`) {
	}
	open := get[[]shownMessage](t, w, at+"/message")
	if got := kinds(open); got != "papaRS" || open[5].Info.Finish != "" {
		t.Errorf("while the summary is written there are %s: %+v", got, open[4:])
	}
	if one := get[shownMessage](t, w, at+"/message/"+open[4].Info.ID); kinds([]shownMessage{one}) != "R" {
		t.Errorf("the request is %+v", one)
	}
	if a := w.ask(t, http.MethodGet, at, ""); !strings.Contains(a.body, `"compacting":`) {
		t.Errorf("the session is %s", a.body)
	}
	if a := w.ask(t, http.MethodPost, at+"/abort", ""); a.status != 200 {
		t.Fatalf("%v", a)
	}
	waits.Wait()
	for !strings.Contains(next(), `"error":{"name":"MessageAbortedError"`) {
	}
	if a := w.ask(t, http.MethodGet, at, ""); strings.Contains(a.body, `"compacting":`) {
		t.Errorf("the session is %s", a.body)
	}
	if got := kinds(get[[]shownMessage](t, w, at+"/message")); got != "papa" {
		t.Errorf("after the interruption there are %s", got)
	}
}

// A terminal interface undoes and redoes one message with the role user at a time: the request for a summary is one of
// them. A fork before the request does not have the summary.
func TestRevertAndForkAtSummary(t *testing.T) {
	w, _, id := compactionWorld(t)
	at := "/session/" + id
	if a := w.ask(t, http.MethodPost, at+"/summarize", summarizeBody); a.status != 200 {
		t.Fatalf("%v", a)
	}
	ms := get[[]shownMessage](t, w, at+"/message")
	body := func(m shownMessage) string { return `{"messageID":"` + m.Info.ID + `"}` }
	for _, step := range []struct{ to, shown int }{{4, 4}, {2, 2}, {0, 0}, {2, 2}, {4, 4}, {5, 4}} {
		a := w.ask(t, http.MethodPost, at+"/revert", body(ms[step.to]))
		if a.status != 200 || !strings.Contains(a.body, `"revert":{"messageID":"`+ms[step.shown].Info.ID) {
			t.Errorf("the revert to message %d is %v", step.to, a)
		}
	}
	if a := w.ask(t, http.MethodPost, at+"/unrevert", ""); a.status != 200 || strings.Contains(a.body, `"revert"`) {
		t.Errorf("%v", a)
	}
	if got := kinds(get[[]shownMessage](t, w, at+"/message")); got != "papaRS" {
		t.Errorf("after the reversal there are %s", got)
	}
	var fork struct {
		ID string `json:"id"`
	}
	a := w.ask(t, http.MethodPost, at+"/fork", body(ms[4]))
	if err := json.Unmarshal([]byte(a.body), &fork); err != nil || a.status != 200 {
		t.Fatalf("%v, %v", a, err)
	}
	if got := kinds(get[[]shownMessage](t, w, "/session/"+fork.ID+"/message")); got != "papa" {
		t.Errorf("the fork has %s", got)
	}
	if a := w.ask(t, http.MethodPost, at+"/revert", body(ms[4])); a.status != 200 {
		t.Errorf("%v", a)
	}
	w.ask(t, http.MethodPost, at+"/prompt_async", `{"noReply":true,"parts":[{"type":"text","text":"go on"}]}`)
	if got := kinds(get[[]shownMessage](t, w, at+"/message")); got != "papap" {
		t.Errorf("after the next prompt there are %s", got)
	}
}
