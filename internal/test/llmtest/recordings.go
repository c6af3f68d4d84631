package llmtest

import (
	"encoding/base64"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Exchange is one recorded request with its response.
type Exchange struct{ Name, URL, Request, Response string }

// LoadRecordings reads the exchanges in testdata/recordings, sorted by file.
func LoadRecordings(tb testing.TB) []Exchange {
	tb.Helper()
	// A test without recordings would pass without a check.
	files, err := filepath.Glob("testdata/recordings/*/*.json")
	if err != nil || len(files) == 0 {
		tb.Fatalf("no recordings: %v", err)
	}
	var out []Exchange
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		// Only the members that tests need are decoded.
		var cassette struct {
			Interactions []struct {
				Request  struct{ URL, Body string }
				Response struct{ Body, BodyEncoding string }
			}
		}
		if err := json.Unmarshal(data, &cassette, json.MatchCaseInsensitiveNames(true)); err != nil {
			tb.Fatalf("%s: %v", file, err)
		}
		// Binary bodies are encoded in the file.
		for i, in := range cassette.Interactions {
			if in.Response.BodyEncoding == "base64" {
				binary, err := base64.StdEncoding.DecodeString(in.Response.Body)
				if err != nil {
					tb.Fatalf("%s: %v", file, err)
				}
				in.Response.Body = string(binary)
			}
			name := fmt.Sprintf("%s-%d", strings.TrimSuffix(filepath.Base(file), ".json"), i)
			out = append(out, Exchange{name, in.Request.URL, in.Request.Body, in.Response.Body})
		}
	}
	return out
}

// Decode decodes a response body.
type Decode func(body io.Reader) iter.Seq2[llm.Event, error]

// CheckRecordedAnswer compares the events of a recorded answer with testdata/events, complete and split every few
// bytes. With update it writes the file.
func CheckRecordedAnswer(t *testing.T, x Exchange, decode Decode, update bool) {
	t.Helper()
	got := Print(decode(strings.NewReader(x.Response)))
	golden := filepath.Join("testdata", "events", x.Name+".txt")
	if update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	for _, n := range []int{1, 2, 3, 7, 64, 1000} {
		if again := Print(decode(&SlowReader{x.Response, n})); again != got {
			t.Fatalf("split at every %d bytes:\n%s", n, cmp.Diff(got, again))
		}
	}
}

// CheckCutAnswer cuts a recorded answer at thousands of positions. A prefix either ends like the complete answer,
// because it contains the finish marker, or fails; without the marker it never emits a call.
func CheckCutAnswer(t *testing.T, x Exchange, decode Decode) {
	t.Helper()
	step := 1 + len(x.Response)/2000 // every position would take quadratic time
	for cut := 0; cut < len(x.Response); cut += step {
		got := Print(decode(strings.NewReader(x.Response[:cut])))
		finished := strings.Contains("\n"+got, "\nfinish ")
		if finished == strings.Contains("\n"+got, "\nerror ") {
			t.Fatalf("cut at %d: neither one end nor the other:\n%s", cut, got)
		}
		if strings.Contains(got, "\ncall ") && !finished {
			t.Fatalf("cut at %d: a call without a finish:\n%s", cut, got)
		}
	}
}

// DecodeTree decodes JSON text for a comparison by meaning.
func DecodeTree(tb testing.TB, s string) any {
	tb.Helper()
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		tb.Fatalf("%v in %.2000s", err, s)
	}
	return v
}
