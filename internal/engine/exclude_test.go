package engine

import (
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
)

func refuses(status int, message string) script.Turn {
	return script.Turn{
		Steps: []script.Step{{Fault: &script.Fault{Kind: script.FaultStatus, Status: status, Message: message}}},
	}
}

func answers(text string) script.Turn {
	return script.Turn{Steps: []script.Step{{Text: script.Chunks{text}}}}
}

// media counts the images and documents of a request.
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

// Content that the provider rejects is left out of the next attempt and of all later requests, also after a restart.
// Content that is sent later is not excluded.
func TestRejectedPartIsExcluded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, script.Script{Turns: []script.Turn{
			refuses(
				400, "messages.0.content.1.image: Could not process image",
			), answers("one"), answers("two"), answers("three"),
		}})
		defer func() { w.close(t) }()
		m := w.models["test/one"]
		m.Images, m.Documents = true, true
		if _, err := w.engine.Commands.CreateSession(
			t.Context(), admit.CreateRequest{ID: "ses_a", Location: session.Location{Directory: "/w"}},
		); err != nil {
			t.Fatal("create the session:", err)
		}
		say := func(id session.MessageID, files ...session.File) {
			t.Helper()
			_, err := w.engine.Commands.AdmitPrompt(
				t.Context(), admit.PromptRequest{SessionID: "ses_a", ID: id, Prompt: session.Prompt{Text: "look", Files: files}},
			)
			if err != nil {
				t.Fatal("admit the prompt:", err)
			}
			synctest.Wait()
		}
		say(
			"msg_a", session.File{URI: dataOf("image/png", pngHead), Name: "bad.png"},
			session.File{URI: dataOf("application/pdf", "%PDF-1.4"), Name: "good.pdf"},
		)
		w.kill(false)
		w.start()
		say("msg_b")
		say("msg_c", session.File{URI: dataOf("image/png", pngHead), Name: "good.png"})
		requests := w.player.ListRequests()
		want := [][2]int{{1, 1}, {0, 1}, {0, 1}, {1, 1}}
		if len(requests) != len(want) {
			t.Fatalf("%d requests", len(requests))
		}
		for i, r := range requests {
			if images, documents := media(r); images != want[i][0] || documents != want[i][1] {
				t.Errorf("request %d: %d images and %d documents, want %v", i+1, images, documents, want[i])
			}
		}
		if said := requests[1].Messages[0].Parts; !strings.Contains(
			said[0].(llm.Text).Text, "bad.png of type image/png is left out",
		) {
			t.Errorf("%+v", said)
		}
	})
}

// vendor is an OpenAI Chat server with scripted answers that keeps the requests.
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

// Only the image that the provider names is excluded, also after a restart and wherever it was sent before; an image
// that is sent again later is tried again. If the provider names none, all images are excluded.
func TestNamedPartIsExcludedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &vendor{
			refusals: []string{
				"messages[1].content[2].image_url.url", "", "", "messages[5].content[1]", "", "messages[1].content[1].image.source",
			},
		}
		w := newWorld(t, script.Script{})
		defer func() { w.close(t) }()
		m := w.models["test/one"]
		m.Images = true
		var err error
		compatible := provider.NewCompatible("test", "Test", "http://own.test")
		m.Client, err = provider.New(provider.Config{Vendor: compatible, Transport: v})
		if err != nil {
			t.Fatal("make the provider:", err)
		}
		if _, err := w.engine.Commands.CreateSession(
			t.Context(), admit.CreateRequest{ID: "ses_a", Location: session.Location{Directory: "/w"}},
		); err != nil {
			t.Fatal("create the session:", err)
		}
		image := func(letter string) session.File {
			return session.File{URI: dataOf("image/png", pngHead+letter), Name: letter}
		}
		say := func(id session.MessageID, files ...session.File) {
			t.Helper()
			if _, err := w.engine.Commands.AdmitPrompt(
				t.Context(), admit.PromptRequest{SessionID: "ses_a", ID: id, Prompt: session.Prompt{Text: "look", Files: files}},
			); err != nil {
				t.Fatal("admit the prompt:", err)
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
