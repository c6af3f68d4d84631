package sharetarget

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// recordedStory is what OpenCode 1.18.33 sent to a share target in one story. Ids, secrets, times, hashes, names and
// paths are replaced; the ids of shares are the ends of the ids of sessions, as in the recording.
type recordedStory struct {
	Story    string            `json:"story"`
	Requests []recordedRequest `json:"requests"`
}

type recordedRequest struct {
	Method string         `json:"method"`
	Path   string         `json:"path"`
	Body   jsontext.Value `json:"body"`
}

// TestRecordedRequests plays the recorded requests. The expected lines are what the shares serve before the first
// DELETE, or at the end without one.
func TestRecordedRequests(t *testing.T) {
	text, err := os.ReadFile("testdata/opencode-1.18.33.json")
	if err != nil {
		t.Fatal(err)
	}
	var stories []recordedStory
	if err := json.Unmarshal(text, &stories); err != nil {
		t.Fatal(err)
	}
	want := expectedServed()
	for _, s := range stories {
		t.Run(s.Story, func(t *testing.T) {
			got, deleted := playStory(t, s.Requests)
			if diff := cmp.Diff(strings.Fields(want[s.Story]), strings.Fields(got)); diff != "" {
				t.Errorf("served (-want +got):\n%s\n%s", diff, got)
			}
			for _, id := range deleted {
				t.Errorf("share %s is served after its deletion", id)
			}
		})
		delete(want, s.Story)
	}
	for story := range want {
		t.Errorf("the story %q is not recorded", story)
	}
}

// playStory sends the requests with the secrets that the target issues. It returns what the shares served before the
// first DELETE, and the deleted shares that still serve data at the end.
func playStory(t *testing.T, requests []recordedRequest) (served string, deleted []string) {
	target := Start(t)
	var ids, gone []string
	secrets := map[string]string{} // by the id of the share
	describe := func() string {
		var out strings.Builder
		for _, id := range ids {
			for _, item := range getData(t, target, id) {
				out.WriteString(describeItem(t, item) + "\n")
			}
		}
		return out.String()
	}
	for _, r := range requests {
		id, _, _ := strings.Cut(strings.TrimPrefix(r.Path, "/api/share/"), "/")
		if r.Method == http.MethodDelete {
			if gone == nil {
				served = describe()
			}
			gone = append(gone, id)
		}
		status, answer := send(t, target, r.Method, r.Path, withSecret(t, r.Body, secrets[id]))
		if status != http.StatusOK {
			t.Fatalf("%s %s is %d", r.Method, r.Path, status)
		}
		if r.Path == "/api/share" {
			var c created
			if err := json.Unmarshal(answer, &c); err != nil {
				t.Fatal(err)
			}
			ids, secrets[c.ID] = append(ids, c.ID), c.Secret
		}
	}
	if gone == nil {
		served = describe()
	}
	for _, id := range gone {
		if len(getData(t, target, id)) > 0 {
			deleted = append(deleted, id)
		}
	}
	return served, deleted
}

// withSecret replaces the secret of a body, if it has one.
func withSecret(t *testing.T, body jsontext.Value, secret string) string {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(body, &members); err != nil {
		t.Fatal(err)
	}
	if _, ok := members["secret"]; ok {
		quoted, err := jsontext.AppendQuote(nil, secret)
		if err != nil {
			t.Fatal(err)
		}
		members["secret"] = quoted
	}
	text, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// send sends a request with the Content-Type that OpenCode uses.
func send(t *testing.T, target *Target, method, path, body string) (int, []byte) {
	t.Helper()
	status, answer, err := try(t, http.DefaultTransport, method, target.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	return status, answer
}

func try(t *testing.T, transport http.RoundTripper, method, url, body string) (int, []byte, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

func getData(t *testing.T, target *Target, id string) []Item {
	t.Helper()
	status, answer := send(t, target, http.MethodGet, "/api/share/"+id+"/data", "")
	var items []Item
	if err := json.Unmarshal(answer, &items); err != nil || status != http.StatusOK {
		t.Fatalf("data: %d %.100s: %v", status, answer, err)
	}
	return items
}

// describeItem returns a line: the key with the numbers of the ids, and what distinguishes the states of the item.
func describeItem(t *testing.T, item Item) string {
	t.Helper()
	key, err := item.findKey()
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range strings.Split(key, "/")[1:] {
		digits := strings.TrimLeft(name[len(name)-6:], "0")
		key = strings.Replace(key, name, fmt.Sprintf("%c%s", "mp"[i], digits), 1)
		if item.Type == "message" {
			break
		}
	}
	if item.Data.Kind() == '[' {
		var list []struct {
			ID   string `json:"id"`
			File string `json:"file"`
		}
		if err := json.Unmarshal(item.Data, &list); err != nil {
			t.Fatal(err)
		}
		for _, x := range list {
			key += ":" + x.ID + x.File
		}
		return key
	}
	var d struct {
		Title, Role, Type, Text, Tool, Finish string
		Revert                                *struct{ MessageID string }
		State                                 struct{ Status string }
	}
	if err := json.Unmarshal(item.Data, &d, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{d.Title, d.Role, d.Finish, d.Type, d.Tool, d.State.Status, d.Text} {
		if word != "" {
			key += ":" + strings.ReplaceAll(fmt.Sprintf("%.24s", strings.Fields(word)[0]), ".", "")
		}
	}
	if d.Revert != nil {
		key += ":reverted"
	}
	return key
}

// expectedServed has the lines of describeItem for each story. m3 is the third message of a story and p3 its third
// part. What was removed from a session stays: OpenCode does not tell a share target of removals.
func expectedServed() map[string]string {
	const edit = `
		part/m1/p1:text:Edit
		part/m2/p2:step-start part/m2/p3:text:I part/m2/p4:tool:read:completed part/m2/p5:step-finish
		part/m3/p6:step-start part/m3/p7:tool:edit:completed part/m3/p8:step-finish part/m3/p9:patch
		part/m4/p10:step-start part/m4/p11:text:Edited part/m4/p12:step-finish
	`
	const editMessages = `
		message/m1:user message/m2:assistant:tool-calls message/m3:assistant:tool-calls message/m4:assistant:stop
		message/m5:user message/m6:assistant:stop model:main
	`
	return map[string]string{
		"share, a second prompt, unshare": editMessages + edit + `
			part/m5/p13:text:Second part/m6/p14:step-start part/m6/p15:text:Second part/m6/p16:step-finish
			session:Mock session_diff`,
		"automatic share, a subagent that is shared, too, delete": `
			message/m1:user message/m2:assistant:tool-calls message/m3:assistant:stop model:main
			part/m1/p1:text:delegate
			part/m2/p2:step-start part/m2/p3:tool:task:completed part/m2/p4:step-finish
			part/m3/p5:step-start part/m3/p6:text:All part/m3/p7:step-finish
			session:Mock session_diff
			message/m4:user message/m5:assistant:tool-calls message/m6:assistant:stop model:main
			part/m4/p8:text:child
			part/m5/p9:step-start part/m5/p10:tool:read:completed part/m5/p11:step-finish
			part/m6/p12:step-start part/m6/p13:text:Child part/m6/p14:step-finish
			session:Look session_diff`,
		// The answer and its text were removed at the end, after the text was edited.
		"titles and edits of a shared session": `
			message/m1:user message/m2:assistant:stop model:main
			part/m1/p1:text:Hi part/m2/p2:step-start part/m2/p3:text:Edited part/m2/p4:step-finish
			session:Newer session_diff`,
		// The prompt after the revert removed m1 to m4.
		"revert, unrevert and a prompt after a revert": editMessages + edit + `
			part/m5/p13:text:Other part/m6/p14:step-start part/m6/p15:text:Third part/m6/p16:step-finish
			session:F session_diff`,
		"compaction and another model": `
			message/m1:user message/m2:assistant:stop message/m3:user message/m4:assistant:stop
			message/m5:user message/m6:assistant:stop message/m7:user message/m8:assistant:stop model:other
			part/m1/p1:text:One part/m2/p2:step-start part/m2/p3:text:First part/m2/p4:step-finish
			part/m3/p5:text:Two part/m4/p6:step-start part/m4/p7:text:Second part/m4/p8:step-finish
			part/m5/p9:compaction part/m6/p10:step-start part/m6/p11:text:## part/m6/p12:step-finish
			part/m7/p13:text:Three part/m8/p14:step-start part/m8/p15:text:Third part/m8/p16:step-finish
			session:F session_diff`,
	}
}
