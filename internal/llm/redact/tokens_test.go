package redact_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/llm/redact"
)

func TestMaskText(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"id AKIAQ3EGRTB7WZ5YXK2M,wJalrXUtnFEMIzK7MDENGzbPxRfiCYzCANARYKEY\n", "id [redacted]\n"},
		{`"output":"a\nghp_0123456789abcdefghij\tx"`, `"output":"a\n[redacted]\tx"`},
		{"PGPASSWORD=abcd psql", "PGPASSWORD=[redacted] psql"},
		{"12: SMTP_PASS=let-me-in\n13: X=1", "12: SMTP_PASS=[redacted]\n13: X=1"},
		{"+password=correcthorse\n", "+password=[redacted]\n"},
		{"client_secret: Ab3/x9==\n", "client_secret: [redacted]\n"},
		{"password := \"hunter2!\"", "password := \"[redacted]\""},
		{"db.password = 'hunter2'", "db.password = '[redacted]'"},
		{`curl -H "X-Api-Key: 0a1b2c3d4e5f"`, `curl -H "X-Api-Key: [redacted]"`},
		{`curl -H "Cookie: a=b; c=d" x`, `curl -H "Cookie: [redacted]" x`},
		{"mytool --token=0a1b2c3d4e5f run", "mytool --token=[redacted] run"},
		{`{\"api_key\": \"abc\", \"n\": 1}`, `{\"api_key\": \"[redacted]\", \"n\": 1}`},
		{`{"password": "a\"b\\", "n": "m"}`, `{"password": "[redacted]", "n": "m"}`},
		{"redis://:hunter2@cache:6379/0", "redis://:[redacted]@cache:6379/0"},
		{
			"-----BEGIN PRIVATE KEY-----\\nMIIEowIBAAKCAQEA0123456789\\nab12==\\n-----END PRIVATE KEY-----\\n",
			"-----BEGIN PRIVATE KEY-----[redacted]-----END PRIVATE KEY-----\\n",
		},
		{
			"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF0123456789ABCDEF\n" +
				"\nMIIEowIBAAKCAQEA0123456789\nthen code",
			"-----BEGIN RSA PRIVATE KEY-----[redacted]\nthen code",
		},
	} {
		got := string(redact.MaskText([]byte(tt.in)))
		if got != tt.want {
			t.Errorf("%s\n got %q\nwant %q", tt.in, got, tt.want)
		}
		if again := string(redact.MaskText([]byte(got))); again != got {
			t.Errorf("%s\nagain: %q", got, again)
		}
	}
}

// What ordinary work contains is exported as it is.
func TestMaskTextKeeps(t *testing.T) {
	for _, text := range []string{
		"commit 3f786850e387550fdab836ed7e6dc881de23001b",
		"0b1c9f6e-8a9d-4d3e-9c0a-1b2c3d4e5f60",
		`"integrity": "sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg=="`,
		"github.com/x/y v1.2.3 h1:AbCdEfGhIjKlMnOpQrStUvWxYz0123456789ABCDEFG=",
		"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
		"the password is wrong; enter your password: again",
		"password: string;",
		"password: string",
		"token: Token,",
		"func login(password string) error",
		"if password == \"\" {",
		"password = req.Form.Get(\"password\")",
		"password=os.environ[\"DB_PASSWORD\"]",
		"token := r.Header.Get(\"Authorization\")",
		"token: u64,",
		"PASSWORD=$(cat secret)",
		"DB_PASSWORD=${DB_PASSWORD}",
		"TOKEN=$1",
		"API_KEY=<your key>",
		"secret: ${{ secrets.NPM }}",
		`<input type="password" name="password">`,
		"connect(password=password)",
		"    token=settings",
		"max_tokens=4096",
		"https://example.com/a:b@c",
		"https://example.com:8443/x?y=1",
		"git@github.com:owner/name.git",
		"ssh://git@host/x",
		"postgres://user:${PASSWORD}@host/db",
		"Authorization: Bearer $TOKEN",
		"Authorization: see below",
		"Cookie: string",
		"sk-learn and sk-folding-cube-spinner-wrapper",
		"task-0123456789abcdef0123",
		"npm_config_registry",
		"AKIA",
		"eyJhIjoxfQ",
		"strings.Contains(s, \"-----BEGIN RSA PRIVATE KEY-----\") || isOther(s)",
		"x.Authorization = !req.headers.authorization;",
		"next_token = page.next_page_token",
		"password_hash = bcrypt2",
		"the key: value of `secret` is unset",
		"ASIAPACIFICANDOCEANIA",
		"ses_e01ffc867ffeXdojPkzpHag281",
		"toolu_01A2b3C4d5E6f7G8h9",
		"private_key: bytes32",
		"tokenizer = Tokenizer2()",
	} {
		if got := string(redact.MaskText([]byte(text))); got != text {
			t.Errorf("%s\n got %s", text, got)
		}
	}
}

func FuzzMaskText(f *testing.F) {
	f.Add([]byte("\"QUJD\\n-----END PRIVATE KEY-----")) // the part of a key, and a member of JSON, at the beginning
	f.Add([]byte("A_TOKEN=\"\\\"x\\\\\" -----BEGIN PRIVATE KEY-----\\nAKIAQ3EGRTB7WZ5YXK2M, ://a:b@ Cookie: a=b"))
	for _, text := range plantedSecrets {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if got := redact.MaskText(bytes.Clone(text)); len(got) > len(text)*len(redact.Mark)+len(redact.Mark) {
			t.Errorf("%d bytes became %d", len(text), len(got))
		}
	})
}

func BenchmarkMaskText(b *testing.B) {
	source, err := os.ReadFile("tokens.go")
	if err != nil {
		b.Fatal(err)
	}
	text := []byte(strings.Repeat(string(source), 20))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		redact.MaskText(text)
	}
}
