package transfer_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer"
)

// canaries are texts with a secret each; {} marks it.
var canaries = []string{
	"aws configure: {AKIAQ3EGRTB7WZ5YXK2M}",
	"[default]\naws_secret_access_key = {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}\n",
	"-----BEGIN RSA PRIVATE KEY-----\n" +
		"{MIIEowIBAAKCAQEAcanary0123456789abcdefABCDEFxyzTUVWXYZ0123456789}\n-----END RSA PRIVATE KEY-----",
	"1: -----BEGIN OPENSSH PRIVATE KEY-----\n" +
		"2: {b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2}\n(cut)",
	"token {eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c} ok",
	"slack {xoxb-123456789012-1234567890123-canaryCanaryCanary}",
	"//registry.npmjs.org/:_authToken={npm_abcdefghijklmnopqrstuvwxyz0123456789}",
	"twine -p {pypi-AgEIcHlwaS5vcmcCJGNhbmFyeS1jYW5hcnkAAiol}",
	"stripe.key = '{sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc}'",
	"git push https://{ghp_abcdefghijklmnopqrstuvwxyz0123456789}@github.com/a/b",
	"{github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz0123456789ABCDEFGHIJ}",
	"{glpat-abcdefghij0123456789}",
	"maps?key={AIzaSyA-canary0123456789abcdefghijklmno}",
	"{sk-proj-abcdefghij0123456789ABCDEF}",
	"{sk-ant-api03-abcdefghij0123456789}",
	"DATABASE_URL=postgres://app:{c4n4ry!pass@word}@db.internal:5432/app",
	"> GET / HTTP/1.1\n> Cookie: {sid=canary0123456789; theme=dark}\n> Accept: */*",
	"curl -H 'Authorization: Basic {Y2FuYXJ5OmNhbmFyeTEyMw==}' http://x",
	"< set-cookie: {session=canary9876543210; Path=/; HttpOnly}\r\n< etag: 1",
	"DB_PASSWORD={correcthorsebattery}\nexport API_TOKEN=\"{canary token 99}\"\n",
	`{"db": {"password": "{hunter2canary}", "client_secret":"{c4n4ry}"}}`,
	"mysql:\n  password: {hunter2canary!}\n  user: app\n",
	"POST /login?user=a&password={hunter2canary}&next=%2F",
	"our secret {f00dcafe-own-server-secret}",
}

// markedSecrets returns the text without the marks, and the texts between them.
func markedSecrets(text string) (plain string, secrets []string) {
	if strings.HasPrefix(text, `{"`) { // JSON: its braces are no marks
		return strings.NewReplacer(`"{`, `"`, `}"`, `"`).Replace(text), []string{"hunter2canary", "c4n4ry"}
	}
	for rest := text; ; {
		_, after, ok := strings.Cut(rest, "{")
		if !ok {
			return strings.NewReplacer("{", "", "}", "").Replace(text), secrets
		}
		secret, after, _ := strings.Cut(after, "}")
		secrets, rest = append(secrets, secret), after
	}
}

// exportText exports a session with the text in a prompt, an attachment, an answer and a tool call.
func exportText(t *testing.T, e transfer.Export, text string) (string, int) {
	t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	data := base64.StdEncoding.EncodeToString([]byte(text))
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"data":[{"id":"msg_1","type":"user","time":{"created":1},"text":%[1]s,
			"files":[{"uri":"data:text/plain;base64,%[2]s","mime":"text/plain","name":"a.env"}]},
			{"id":"msg_2","type":"assistant","time":{"created":1,"completed":2},"agent":"build",
			"model":{"id":"m","providerID":"p"},
			"content":[{"type":"text","id":"t","partID":"prt_1","text":%[1]s},
			{"type":"tool","id":"c","partID":"prt_2","name":"bash","time":{"created":1},"state":{"status":"completed",
			"input":{"command":%[1]s},"title":%[1]s,"content":[{"type":"text","text":%[1]s}]}}]}],"cursor":{}}`, quoted, data)
	})
	e.API = &api.Client{HTTP: &http.Client{Transport: api.Local(server)}}
	var out bytes.Buffer
	left, err := e.Write(t.Context(), &out, &session.Session{ID: "ses_a", Title: text})
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), left
}

func TestExportHidesSecrets(t *testing.T) {
	for _, marked := range canaries {
		text, secrets := markedSecrets(marked)
		t.Run(text, func(t *testing.T) {
			known := []string{"f00dcafe-own-server-secret"}
			got, left := exportText(t, transfer.Export{Known: known}, text)
			if left < 5 {
				t.Errorf("%d texts had a secret, want at least 5", left)
			}
			got += decodeAttachments(t, got)
			for _, secret := range secrets {
				if strings.Contains(got, secret) {
					t.Errorf("%q is in the export:\n%s", secret, got)
				}
			}
			raw, _ := exportText(t, transfer.Export{Known: known, Secrets: true}, text)
			for _, secret := range secrets {
				if !strings.Contains(raw, secret) {
					t.Errorf("%q is not in the export with secrets", secret)
				}
			}
		})
	}
	if n := len(canaries); n < 20 || slices.Contains(canaries, "") {
		t.Errorf("%d canaries", n)
	}
}

// decodeAttachments returns the texts of the data URLs in an export.
func decodeAttachments(t *testing.T, export string) (texts string) {
	t.Helper()
	for {
		_, after, ok := strings.Cut(export, "data:text/plain;base64,")
		if !ok {
			return texts
		}
		data, rest, _ := strings.Cut(after, `"`)
		b, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			t.Fatal(err)
		}
		texts, export = texts+string(b), rest
	}
}
