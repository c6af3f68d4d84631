package provider

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// AWS signs requests with the credentials of the environment or of a profile in ~/.aws. It reads them for each request,
// so that a new login takes effect at once.
type AWS struct {
	Getenv  func(string) string
	Region  string
	Profile string // from the configuration; "" is AWS_PROFILE, then default
	Now     func() time.Time
}

var _ Credential = (*AWS)(nil)

// bedrockService is the service name in the signatures of requests to Bedrock.
const bedrockService = "bedrock"

// Authorize implements Credential with a version 4 signature over the body, the address, and the headers that no proxy
// changes.
func (a *AWS) Authorize(ctx context.Context, r *http.Request, body []byte) error {
	creds, err := a.loadCredentials()
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	r.Header.Del("Authorization")
	bare := &http.Request{Method: r.Method, URL: r.URL, Host: r.Host, Header: http.Header{}}
	for name, values := range r.Header {
		if name == "Content-Type" || strings.HasPrefix(name, "X-Amz-") {
			bare.Header[name] = values
		}
	}
	if err := v4.NewSigner().SignHTTP(
		ctx, creds, bare, hex.EncodeToString(sum[:]), bedrockService, a.Region, a.Now(),
	); err != nil {
		return fmt.Errorf("the request cannot be signed for AWS: %w", err)
	}
	maps.Copy(r.Header, bare.Header)
	return nil
}

// Renew implements Credential: the files may have changed.
func (a *AWS) Renew(_ context.Context, refused *http.Request) (bool, error) {
	creds, err := a.loadCredentials()
	return err == nil && !strings.Contains(refused.Header.Get("Authorization"), "Credential="+creds.AccessKeyID+"/"), err
}

// HasCredentials reports whether there are credentials, without using them.
func (a *AWS) HasCredentials() bool {
	_, err := a.loadCredentials()
	return err == nil
}

func (a *AWS) loadCredentials() (aws.Credentials, error) {
	profile := cmp.Or(a.Profile, a.Getenv("AWS_PROFILE"))
	id, secret := a.Getenv("AWS_ACCESS_KEY_ID"), a.Getenv("AWS_SECRET_ACCESS_KEY")
	if id != "" && secret != "" && a.Profile == "" {
		return aws.Credentials{
			AccessKeyID: id, SecretAccessKey: secret, SessionToken: a.Getenv("AWS_SESSION_TOKEN"), Source: "environment",
		}, nil
	}
	fields := map[string]string{}
	for _, file := range []struct{ variable, name, section string }{
		{"AWS_CONFIG_FILE", "config", configSection(profile)},
		{"AWS_SHARED_CREDENTIALS_FILE", "credentials", cmp.Or(profile, "default")},
	} {
		path := cmp.Or(a.Getenv(file.variable), filepath.Join(homeDir(a.Getenv), ".aws", file.name))
		if err := readSection(path, file.section, fields); err != nil {
			return aws.Credentials{}, err
		}
	}
	switch {
	case fields["aws_access_key_id"] != "" && fields["aws_secret_access_key"] != "":
		return aws.Credentials{
			AccessKeyID: fields["aws_access_key_id"], SecretAccessKey: fields["aws_secret_access_key"],
			SessionToken: fields["aws_session_token"], Source: "profile",
		}, nil
	case len(fields) > 0:
		return aws.Credentials{}, fmt.Errorf(
			"the AWS profile %q has no keys (roles, single sign-on and credential processes are not supported); run: eval "+
				"\"$(aws configure export-credentials --profile %[1]s --format env)\"",
			cmp.Or(profile, "default"),
		)
	default:
		return aws.Credentials{}, errors.New(
			"no AWS credentials found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, " +
				"or AWS_BEARER_TOKEN_BEDROCK",
		)
	}
}

func configSection(profile string) string {
	if profile == "" || profile == "default" {
		return "default"
	}
	return "profile " + profile
}

// maxINI bounds the size of an AWS settings file.
const maxINI = 1 << 20

// readSection adds the settings of a section of an INI file to into; a missing file has none. It skips nested settings,
// which are indented.
func readSection(path, section string, into map[string]string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("read the AWS settings: %w", err)
	case !info.Mode().IsRegular() || info.Size() > maxINI:
		return fmt.Errorf("%s is not an AWS settings file", path)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the AWS settings: %w", err)
	}
	parseSection(raw, section, into)
	return nil
}

func parseSection(raw []byte, section string, into map[string]string) {
	inside := false
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, maxINI+1)
	for lines.Scan() {
		text := lines.Text()
		trimmed := strings.TrimSpace(text)
		switch {
		case trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';':
		case trimmed[0] == '[':
			name, _, _ := strings.Cut(trimmed[1:], "]")
			inside = strings.Join(strings.Fields(name), " ") == section
		case inside && text[0] != ' ' && text[0] != '\t':
			if name, value, ok := strings.Cut(trimmed, "="); ok {
				into[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
			}
		}
	}
}

// ProfileRegion returns the region of the profile in ~/.aws/config; "" if it has none.
func (a *AWS) ProfileRegion() string {
	fields := map[string]string{}
	path := cmp.Or(a.Getenv("AWS_CONFIG_FILE"), filepath.Join(homeDir(a.Getenv), ".aws", "config"))
	if readSection(path, configSection(cmp.Or(a.Profile, a.Getenv("AWS_PROFILE"))), fields) != nil {
		return ""
	}
	return fields["region"]
}
