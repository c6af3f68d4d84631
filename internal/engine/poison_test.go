package engine

import (
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cairn-dev/cairn/internal/engine/location"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/llm/script"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

func refuses(status int, message string) script.Turn {
	return script.Turn{Steps: []script.Step{{Fault: &script.Fault{Kind: script.FaultStatus, Status: status, Message: message}}}}
}

func answers(text string) script.Turn {
	return script.Turn{Steps: []script.Step{{Text: script.Chunks{text}}}}
}

// media counts what of each kind a request carries.
func media(r *llm.Request) (images, documents int) {
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			if f, ok := p.(llm.Media); ok && strings.HasPrefix(f.MediaType, "image/") {
				images++
			} else if ok {
				documents++
			}
		}
	}
	return images, documents
}

// TestPoisonedPart: what the provider blames is left out of the next attempt and of every later request, also those of
// another process; what comes after it is sent.
func TestPoisonedPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, script.Script{Turns: []script.Turn{
			refuses(400, "messages.0.content.1.image: Could not process image"), answers("one"), answers("two"), answers("three"),
		}})
		defer func() { w.close(t) }()
		m := w.models["test/one"]
		m.Images, m.Documents = true, true
		if _, err := w.engine.Create(t.Context(), CreateRequest{ID: "ses_a", Location: session.Location{Directory: "/w"}}); err != nil {
			t.Fatal(err)
		}
		say := func(id session.MessageID, files ...session.File) {
			t.Helper()
			_, err := w.engine.Prompt(t.Context(), PromptRequest{SessionID: "ses_a", ID: id, Prompt: session.Prompt{Text: "look", Files: files}})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		say("msg_a", session.File{URI: dataOf("image/png", pngHead), Name: "bad.png"}, session.File{URI: dataOf("application/pdf", "%PDF-1.4"), Name: "good.pdf"})
		w.kill(false)
		w.start()
		say("msg_b")
		say("msg_c", session.File{URI: dataOf("image/png", pngHead), Name: "good.png"})
		requests := w.player.Requests()
		want := [][2]int{{1, 1}, {0, 1}, {0, 1}, {1, 1}}
		if len(requests) != len(want) {
			t.Fatalf("%d requests", len(requests))
		}
		for i, r := range requests {
			if images, documents := media(r); images != want[i][0] || documents != want[i][1] {
				t.Errorf("request %d: %d images and %d documents, want %v", i+1, images, documents, want[i])
			}
		}
		if said := requests[1].Messages[0].Parts; !strings.Contains(said[0].(llm.Text).Text, "bad.png of type image/png is left out") {
			t.Errorf("%+v", said)
		}
	})
}

// vendor is a server of OpenAI's Chat that answers each request as it is told and keeps what it was asked.
type vendor struct {
	refusals []string
	asked    []string
}

func (v *vendor) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	v.asked = append(v.asked, string(body))
	status, answer := 200, `{"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`
	if n := len(v.asked); n <= len(v.refusals) && v.refusals[n-1] != "" {
		status, answer = 400, `{"error":{"message":"Invalid image.","param":"`+v.refusals[n-1]+`"}}`
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(answer)), Header: http.Header{}}, err
}

// TestNamedPart: of the images, only the one that the provider names is left out, also in another process and wherever
// it was sent before; sent anew it is tried anew. Where too many are named, or none, all of the kind are left out.
func TestNamedPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &vendor{refusals: []string{"messages[1].content[2].image_url.url", "", "", "messages[5].content[1]", "", "messages[1].content[1].image.source"}}
		w := newWorld(t, script.Script{})
		defer func() { w.close(t) }()
		m := w.models["test/one"]
		m.Images = true
		var err error
		m.Client, err = provider.New(provider.Config{Vendor: provider.Compatible("test", "Test", "http://own.test"), Transport: v})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.engine.Create(t.Context(), CreateRequest{ID: "ses_a", Location: session.Location{Directory: "/w"}}); err != nil {
			t.Fatal(err)
		}
		image := func(letter string) session.File {
			return session.File{URI: dataOf("image/png", pngHead+letter), Name: letter}
		}
		say := func(id session.MessageID, files ...session.File) {
			t.Helper()
			if _, err := w.engine.Prompt(t.Context(), PromptRequest{SessionID: "ses_a", ID: id, Prompt: session.Prompt{Text: "look", Files: files}}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		say("msg_a", image("a"), image("b"), image("c"))
		w.kill(false)
		w.start()
		say("msg_b")
		say("msg_c", image("b"))
		say("msg_d", image("d"))
		for i, want := range []string{"abc", "ac", "ac", "acb", "ac", "acd", "", ""} {
			got := "none"
			if i < len(v.asked) {
				got = ""
				for _, url := range strings.Split(v.asked[i], "base64,")[1:] {
					data, _ := base64.StdEncoding.DecodeString(url[:strings.IndexByte(url, '"')])
					got += string(data[len(data)-1:])
				}
			}
			if i == 7 {
				want = "none"
			}
			if got != want {
				t.Errorf("request %d has %q, want %q", i+1, got, want)
			}
		}
	})
}

func TestPoisoned(t *testing.T) {
	image := &session.User{Text: "x", Files: []session.File{{URI: dataOf("image/png", pngHead)}}}
	image.Seq = 2
	thought := &session.Assistant{Model: session.ModelRef{ProviderID: "p", ID: "m"}, Content: []session.Content{&session.Reasoning{Text: "hm", Metadata: []byte(`{"anthropic":{"signature":"s"}}`)}}}
	thought.Seq = 3
	bad := func(status int, class llm.Class, message string) *llm.Error {
		return &llm.Error{Class: class, Status: status, Message: message}
	}
	tests := []struct {
		e    *llm.Error
		want session.ContentKind
	}{
		{bad(400, llm.InvalidRequest, "m is not a multimodal model"), session.ContentImages},
		{bad(400, llm.InvalidRequest, "'messages.1.content' : messages[1].content must be a string"), session.ContentImages},
		{bad(500, llm.InvalidRequest, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"), session.ContentImages},
		{bad(500, llm.InvalidRequest, "Failed to create new sequence: missing data required for image input"), session.ContentImages},
		{bad(400, llm.InvalidRequest, "messages.3.content.0.image.source.base64: The image was specified using image/jpeg media type, but does not match"), session.ContentImages},
		{bad(400, llm.InvalidRequest, "Invalid image data"), session.ContentImages},
		{bad(400, llm.InvalidRequest, "messages.1.content.0: Invalid `signature` in `thinking` block"), session.ContentReasoning},
		{bad(400, llm.InvalidRequest, "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified"), session.ContentReasoning},
		{bad(400, llm.InvalidRequest, "The encrypted content could not be verified. reasoning"), session.ContentReasoning},
		{bad(400, llm.InvalidRequest, "Could not process PDF"), ""}, // there is none
		{bad(400, llm.InvalidRequest, "This model doesn't support the image content block that you provided. Update the content block and try again."), session.ContentImages},
		{bad(400, llm.InvalidRequest, "This model doesn't support the document content block that you provided. Update the content block and try again."), session.ContentDocuments},
		{bad(400, llm.InvalidRequest, "Invalid 'messages[3]'. Content blocks are expected to be either text or image_url type."), session.ContentDocuments},
		{bad(400, llm.InvalidRequest, "The file type you uploaded is not supported. Please try again with a pdf"), session.ContentDocuments},
		{bad(400, llm.InvalidRequest, "Invalid file data: 'input[4].content[0].file_data'. Expected a base64-encoded data URL, but got unsupported MIME type"), session.ContentDocuments},
		{bad(400, llm.InvalidRequest, "messages.2.content.2.document.source.type: Field required"), session.ContentDocuments},
		{bad(400, llm.InvalidRequest, "thinking.budget_tokens: must be less than max_tokens"), ""},
		{bad(400, llm.InvalidRequest, "temperature is not supported"), ""},
		{bad(401, llm.Auth, "invalid image"), ""},
		{bad(0, llm.InvalidRequest, "invalid image"), ""},
		{bad(500, llm.Overloaded, "could not process image"), ""},
	}
	document := &session.User{Text: "x", Files: []session.File{{URI: dataOf("application/pdf", "%PDF-1.4")}}}
	document.Seq = 1
	for _, tt := range tests {
		set := &setting{
			session: &session.Session{}, epoch: &store.Epoch{BaselineSeq: -1},
			model:   &location.Model{Ref: session.ModelRef{ProviderID: "p", ID: "m"}, Images: true, Documents: true},
			history: &history{messages: []session.Message{image, thought}},
		}
		if tt.want == session.ContentDocuments {
			set.history.messages = []session.Message{document, image, thought}
		}
		set.history.shown.Compaction, set.history.shown.Baseline = -1, -1
		out := poisoned(&turn{set: set}, tt.e)
		if (out == nil) != (tt.want == "") || out != nil && (out.Kind != tt.want || out.Through != 3) {
			t.Errorf("%s: %+v, want %q", tt.e.Message, out, tt.want)
		}
		if out == nil {
			continue
		}
		if out.Digest != "" {
			t.Errorf("%s: one piece is meant by words that name none: %+v", tt.e.Message, out)
		}
		set.session.Excluded = []session.Exclusion{*out}
		if again := poisoned(&turn{set: set}, tt.e); again != nil {
			t.Errorf("%s: it is blamed again: %+v", tt.e.Message, again)
		}
	}
}

// Pieces are left out one by one until they are too many.
func TestTooManyNamed(t *testing.T) {
	image := &session.User{Text: "x", Files: []session.File{{URI: dataOf("image/png", pngHead)}}}
	image.Seq = 2
	set := &setting{
		session: &session.Session{}, epoch: &store.Epoch{BaselineSeq: -1}, model: &location.Model{Images: true},
		history: &history{messages: []session.Message{image}},
	}
	set.history.shown.Compaction, set.history.shown.Baseline = -1, -1
	e := &llm.Error{Class: llm.InvalidRequest, Status: 400, Message: "invalid image", Named: &llm.Media{MediaType: "image/png", Data: []byte(pngHead)}}
	for n := range maxNamed {
		if out := poisoned(&turn{set: set}, e); out == nil || out.Digest != digest([]byte(pngHead)) {
			t.Fatalf("after %d: %+v", n, out)
		}
		set.session.Excluded = append(set.session.Excluded, session.Exclusion{Kind: session.ContentImages, Through: 2, Digest: "another"})
	}
	if out := poisoned(&turn{set: set}, e); out == nil || *out != (session.Exclusion{Kind: session.ContentImages, Through: 2}) {
		t.Errorf("%+v", out)
	}
}

// What a provider's own tool found is only told once the provider refuses it, or what it stored is gone.
func TestPoisonedHosted(t *testing.T) {
	ref := session.ModelRef{ProviderID: "p", ID: "m"}
	found := func(result string) *session.Assistant {
		it := &session.Tool{ID: "srvtoolu_1", Name: "web", Provider: &session.ToolProvider{Executed: true}}
		it.State.Status, it.State.Result = session.ToolCompleted, []byte(result)
		return &session.Assistant{Model: ref, Content: []session.Content{it}}
	}
	searched := found(`{"type":"web_search_tool_result","content":[{"type":"web_search_result","encrypted_content":"x"}]}`)
	fetched := found(`{"type":"web_fetch_tool_result","content":{"content":{"type":"document"}}}`)
	cited := &session.Assistant{Model: ref, Content: []session.Content{&session.Text{Text: "x", Metadata: []byte(`{"anthropic":{"citations":[{"encrypted_index":"i"}]}}`)}}}
	stored := &session.Assistant{Model: ref, Content: []session.Content{&session.Reasoning{Text: "hm", Metadata: []byte(`{"openai":{"itemId":"rs_1"}}`)}}}
	for said, tt := range map[string]struct {
		of   *session.Assistant
		want session.ContentKind
	}{
		"messages.1.content.1: Invalid `encrypted_content` in `search_result` block":                        {searched, session.ContentReasoning},
		"messages.1.content.0.citations.0: Invalid `encrypted_index`":                                       {cited, session.ContentReasoning},
		"Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.":              {stored, session.ContentReasoning},
		"messages.1.content.1.content: Could not process PDF":                                               {fetched, session.ContentDocuments},
		"messages.1.content.1: file_id file_1 not found":                                                    {searched, session.ContentReasoning},
		"messages.1.content.1.web_fetch_tool_result.content.content: Could not process PDF, another answer": {searched, ""},
	} {
		tt.of.Seq = 3
		set := &setting{session: &session.Session{}, epoch: &store.Epoch{BaselineSeq: -1}, model: &location.Model{Ref: ref}, history: &history{messages: []session.Message{tt.of}}}
		set.history.shown.Compaction, set.history.shown.Baseline = -1, -1
		e := &llm.Error{Class: llm.InvalidRequest, Status: 400, Message: said}
		out := poisoned(&turn{set: set}, e)
		if (out == nil) != (tt.want == "") || out != nil && *out != (session.Exclusion{Kind: tt.want, Through: 3}) {
			t.Errorf("%s: %+v, want %q", said, out, tt.want)
		}
		if out == nil {
			continue
		}
		set.session.Excluded = []session.Exclusion{*out}
		if again := poisoned(&turn{set: set}, e); again != nil {
			t.Errorf("%s: it is blamed again: %+v", said, again)
		}
		for _, m := range lower(set.history.messages, set.model, *out) {
			for _, p := range m.Parts {
				call, hosted := p.(llm.ToolCall)
				result, came := p.(llm.ToolResult)
				if hosted && !call.Elsewhere || came && (len(result.Raw) > 0 || len(result.Content) != 1) {
					t.Errorf("%s: sent as it came: %+v", said, p)
				}
			}
		}
	}
}
