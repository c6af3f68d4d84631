package awslogin_test

import (
	"crypto/sha1"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/llm/awslogin"
)

// awsServices answers as the services do from which AWS's loader obtains credentials. Every access key has another
// number.
func awsServices(t *testing.T) (address string, issued *atomic.Int32) {
	issued = &atomic.Int32{}
	keys := func(id, secret, token, expires, format string) string {
		return fmt.Sprintf("{%q:\"AKID%d\",%q:%q,%q:\"st\",%q:%s}",
			id, issued.Add(1), secret, secret, token, expires, format)
	}
	at := time.Now().Add(time.Hour).UTC()
	quoted := `"` + at.Format(time.RFC3339) + `"`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		form, _ := url.ParseQuery(string(body))
		switch {
		case strings.Contains(form.Get("RoleArn"), "refused"):
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code>`+
				`<Message>not yours</Message></Error></ErrorResponse>`)
		case form.Get("Action") == "AssumeRole" &&
			strings.Contains(r.Header.Get("Authorization"), "Credential=AKIDBASE/"),
			form.Get("Action") == "AssumeRoleWithWebIdentity" && form.Get("WebIdentityToken") == "identity":
			action := form.Get("Action")
			fmt.Fprintf(w, `<%sResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><%[1]sResult><Credentials>`+
				`<AccessKeyId>AKID%d</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>st</SessionToken>`+
				`<Expiration>%s</Expiration></Credentials></%[1]sResult></%[1]sResponse>`,
				action, issued.Add(1), at.Format(time.RFC3339))
		case r.URL.Path == "/token" && strings.Contains(string(body), `"refresh_token"`):
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"accessToken":"sso-new","expiresIn":3600,"refreshToken":"r2","tokenType":"Bearer"}`)
		case r.URL.Path == "/federation/credentials" &&
			strings.HasPrefix(r.Header.Get("X-Amz-Sso_bearer_token"), "sso-"):
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"roleCredentials":%s}`,
				keys("accessKeyId", "secretAccessKey", "sessionToken", "expiration", fmt.Sprint(at.UnixMilli())))
		case r.URL.Path == "/container" && r.Header.Get("Authorization") == "pod":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, keys("AccessKeyId", "SecretAccessKey", "Token", "Expiration", quoted))
		case r.URL.Path == "/latest/api/token" && r.Method == http.MethodPut:
			w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "21600")
			fmt.Fprint(w, "imds")
		case r.URL.Path == "/latest/meta-data/iam/security-credentials/":
			fmt.Fprint(w, "worker")
		case r.URL.Path == "/latest/meta-data/iam/security-credentials/worker" &&
			r.Header.Get("X-Aws-Ec2-Metadata-Token") == "imds":
			answer := keys("AccessKeyId", "SecretAccessKey", "Token", "Expiration", quoted)
			fmt.Fprint(w, `{"Code":"Success",`+answer[1:])
		default:
			t.Logf("unexpected: %s %s %s", r.Method, r.URL, body)
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, issued
}

// TestAWSChain obtains credentials in every way that AWS's tools know, of services on this machine.
func TestAWSChain(t *testing.T) {
	base, issued := awsServices(t)
	home := t.TempDir()
	cacheName := func(key string) string { return fmt.Sprintf(".aws/sso/cache/%x.json", sha1.Sum([]byte(key))) }
	valid, past := time.Now().Add(time.Hour).UTC().Format(time.RFC3339), "2020-01-01T00:00:00Z"
	write(t, home, cacheName("https://start"), `{"accessToken":"sso-old","expiresAt":"`+valid+`"}`)
	write(t, home, cacheName("corp"), `{"accessToken":"x","expiresAt":"`+past+`","refreshToken":"r1",`+
		`"clientId":"c","clientSecret":"s","registrationExpiresAt":"`+valid+`"}`)
	write(t, home, cacheName("gone"), `{"accessToken":"x","expiresAt":"`+past+`"}`)
	identity := write(t, home, "identity", "identity")
	program := write(t, home, "program", "#!/bin/sh\n"+
		"echo '{\"Version\":1,\"AccessKeyId\":\"AKIDPROGRAM\",\"SecretAccessKey\":\"s\"}'\n")
	if err := os.Chmod(program, 0o700); err != nil {
		t.Fatal(err)
	}
	role := "sso_account_id=1\nsso_role_name=r\nsso_region=eu-west-1\n"
	write(t, home, ".aws/config", "[profile old-sso]\nsso_start_url=https://start\n"+role+
		"[profile sso]\nsso_session=corp\n"+role+
		"[sso-session corp]\nsso_region=eu-west-1\nsso_start_url=https://start\n"+
		"[profile sso-expired]\nsso_session=gone\n"+role+
		"[sso-session gone]\nsso_region=eu-west-1\nsso_start_url=https://start\n"+
		"[profile role]\nrole_arn=arn:aws:iam::1:role/r\nsource_profile=base\n"+
		"[profile refused]\nrole_arn=arn:aws:iam::1:role/refused\nsource_profile=base\n"+
		"[profile web]\nrole_arn=arn:aws:iam::1:role/r\nweb_identity_token_file="+identity+"\n"+
		"[profile program]\ncredential_process="+program+"\n")
	write(t, home, ".aws/credentials", "[base]\naws_access_key_id=AKIDBASE\naws_secret_access_key=s\n")
	for name, value := range map[string]string{
		"HOME": home, "AWS_ENDPOINT_URL_STS": base, "AWS_ENDPOINT_URL_SSO": base, "AWS_ENDPOINT_URL_SSO_OIDC": base,
	} {
		t.Setenv(name, value)
	}
	for name, c := range map[string]struct {
		profile string
		env     [2]string // a variable and its value
		fails   string    // part of the error
	}{
		"single sign-on":             {profile: "sso"},
		"single sign-on, old form":   {profile: "old-sso"},
		"expired single sign-on":     {profile: "sso-expired", fails: "aws sso login --profile sso-expired"},
		"role":                       {profile: "role"},
		"refused role":               {profile: "refused", fails: "AccessDenied: not yours; check the profile with"},
		"credential process":         {profile: "program"},
		"web identity":               {profile: "web"},
		"profile of the environment": {env: [2]string{"AWS_PROFILE", "role"}},
		"web identity of a pod":      {env: [2]string{"AWS_WEB_IDENTITY_TOKEN_FILE", identity}},
		"container":                  {env: [2]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI", base + "/container"}},
		"instance":                   {env: [2]string{"AWS_EC2_METADATA_SERVICE_ENDPOINT", base}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/r")
			t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "pod")
			if c.env[0] != "" {
				t.Setenv(c.env[0], c.env[1])
			}
			a := &awslogin.AWS{Getenv: os.Getenv, Profile: c.profile, Region: "eu-west-1", Chain: &awslogin.Chain{}}
			if !a.HasCredentials() {
				t.Error("it has no credentials")
			}
			h, err := signed(t, a, "{}")
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("got %v", err)
				}
				return
			}
			want := fmt.Sprintf("Credential=AKID%d/", issued.Load())
			if name == "credential process" {
				want = "Credential=AKIDPROGRAM/"
			}
			if err != nil || !strings.Contains(h.Get("Authorization"), want) {
				t.Fatalf("%s %v, want %s", h.Get("Authorization"), err, want)
			}
			before := issued.Load()
			if h, err = signed(t, a, "{}"); err != nil || issued.Load() != before {
				t.Errorf("the credentials were not kept: %v", err)
			}
			again, err := a.Renew(t.Context(), &http.Request{Header: h})
			if err != nil || again != (name != "credential process") {
				t.Errorf("refused credentials: %v %v", again, err)
			}
		})
	}
	if (&awslogin.AWS{Getenv: env("HOME", t.TempDir(), "AWS_EC2_METADATA_DISABLED", "true")}).HasCredentials() {
		t.Error("it has credentials without any source")
	}
}
