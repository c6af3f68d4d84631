package awslogin_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/llm/awslogin"
)

const secret = "canary-key-0123456789"

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func write(tb testing.TB, dir, name, text string) string {
	tb.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// signed returns a request with AWS's example credentials at a fixed time.
func signed(tb testing.TB, a *awslogin.AWS, body string) (http.Header, error) {
	tb.Helper()
	r, err := http.NewRequestWithContext(
		tb.Context(), http.MethodPost, "https://bedrock-runtime.eu-west-1.amazonaws.com/model/a%3A0/converse-stream",
		strings.NewReader(body),
	)
	if err != nil {
		tb.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer of the configuration")
	a.Now = func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }
	return r.Header, a.Authorize(tb.Context(), r, []byte(body))
}

func TestAWS(t *testing.T) {
	dir := t.TempDir()
	write(
		t,
		dir,
		".aws/config",
		"# mine\n[default]\nregion = eu-west-1\ns3 =\n  max_concurrent_requests = 2\n[profile work]\nregion=us-west-2\n"+
			"[profile bare]\noutput = json\n",
	)
	write(
		t, dir, ".aws/credentials",
		"[default]\naws_access_key_id = AKIDFILE\naws_secret_access_key = file-secret-1\n\n[work]\n"+
			"aws_access_key_id=AKIDWORK\naws_secret_access_key=work-secret-1\naws_session_token=tok\n",
	)
	tests := []struct {
		name string
		a    awslogin.AWS
		id   string
		want string // of the error
	}{
		{
			"environment",
			awslogin.AWS{Getenv: env("HOME", dir, "AWS_ACCESS_KEY_ID", "AKIDENV", "AWS_SECRET_ACCESS_KEY", secret)},
			"AKIDENV",
			"",
		},
		{"default profile", awslogin.AWS{Getenv: env("HOME", dir)}, "AKIDFILE", ""},
		{"profile of the environment", awslogin.AWS{Getenv: env("HOME", dir, "AWS_PROFILE", "work")}, "AKIDWORK", ""},
		{
			"profile of the configuration before keys of the environment",
			awslogin.AWS{
				Getenv:  env("HOME", dir, "AWS_ACCESS_KEY_ID", "A", "AWS_SECRET_ACCESS_KEY", secret),
				Profile: "work",
			},
			"AKIDWORK", "",
		},
		{"no keys", awslogin.AWS{Getenv: env("HOME", dir, "AWS_PROFILE", "bare")}, "", "aws configure --profile bare"},
		{"none", awslogin.AWS{Getenv: env("HOME", t.TempDir())}, "", "AWS_BEARER_TOKEN_BEDROCK"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.a.Region = "eu-west-1"
			h, err := signed(t, &tt.a, "{}")
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) || tt.a.HasCredentials() {
					t.Errorf("got %v", err)
				}
				return
			}
			got := h.Get("Authorization")
			if err != nil ||
				!strings.HasPrefix(
					got,
					"AWS4-HMAC-SHA256 Credential="+tt.id+"/20260102/eu-west-1/bedrock/aws4_request, SignedHeaders=",
				) {
				t.Fatalf("%s %v", got, err)
			}
			if (h.Get("X-Amz-Security-Token") == "tok") != (tt.id == "AKIDWORK") {
				t.Errorf("session token %q", h.Get("X-Amz-Security-Token"))
			}
			other, _ := signed(t, &tt.a, "{ }")
			if other.Get("Authorization") == got {
				t.Error("the signature does not depend on the body")
			}
		})
	}
	if got := (&awslogin.AWS{Getenv: env("HOME", dir), Profile: "work"}).ProfileRegion(); got != "us-west-2" {
		t.Errorf("region %q", got)
	}
}

// TestAWSSignedHeaders: only headers that no proxy changes are signed.
func TestAWSSignedHeaders(t *testing.T) {
	r := httptest.NewRequest(
		http.MethodPost, "https://bedrock-runtime.eu-west-1.amazonaws.com/model/a%3A0/converse-stream",
		strings.NewReader("{}"),
	)
	for _, name := range []string{
		"Accept", "Accept-Encoding", "Content-Type", "User-Agent", "X-Session-Id", "X-Forwarded-For", "X-Amzn-Bedrock-Trace",
	} {
		r.Header.Set(name, "x")
	}
	a := &awslogin.AWS{
		Getenv: env("AWS_ACCESS_KEY_ID", "AKID", "AWS_SECRET_ACCESS_KEY", secret, "AWS_SESSION_TOKEN", "tok"),
		Region: "eu-west-1",
		Now:    func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
	}
	if err := a.Authorize(t.Context(), r, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	const want = "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token,"
	if got := r.Header.Get("Authorization"); !strings.Contains(got, want) ||
		r.Header.Get("X-Amz-Date") != "20260102T030405Z" || r.Header.Get("X-Amz-Security-Token") != "tok" {
		t.Errorf("%v", r.Header)
	}
	if r.Header.Get("Accept-Encoding") != "x" || r.ContentLength != 2 {
		t.Errorf("signing changed the request: %v", r)
	}
}

func FuzzAWSFiles(f *testing.F) {
	f.Add("[default]\naws_access_key_id = a\n")
	f.Add("[ profile  x ]\na\n=\n[")
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		write(t, dir, ".aws/credentials", text)
		a := &awslogin.AWS{Getenv: env("HOME", dir), Region: "x"}
		a.HasCredentials()
	})
}
