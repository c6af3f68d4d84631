// Package awslogin signs requests to Amazon Bedrock with the keys or the login of AWS's own tools.
package awslogin

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
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go"

	"github.com/cairn-dev/cairn/internal/llm"
)

// AWS signs requests with the credentials of the environment or of a profile in ~/.aws, or with those that AWS's loader
// obtains for it. It reads them for each request, so that a new login takes effect at once.
type AWS struct {
	Getenv  func(string) string
	Region  string
	Profile string // from the configuration; "" is AWS_PROFILE, then default
	Now     func() time.Time
	Chain   *Chain // obtains and keeps credentials that are not keys
}

// bedrockService is the service name in the signatures of requests to Bedrock.
const bedrockService = "bedrock"

// Authorize implements provider.Credential with a version 4 signature over the body, the address, and the headers that
// no proxy changes.
func (a *AWS) Authorize(ctx context.Context, r *http.Request, body []byte) error {
	creds, err := a.loadCredentials(ctx, "")
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

// Renew implements provider.Credential: the files may have changed, and obtained credentials are revoked at times.
func (a *AWS) Renew(ctx context.Context, refused *http.Request) (bool, error) {
	_, old, _ := strings.Cut(refused.Header.Get("Authorization"), "Credential=")
	old, _, _ = strings.Cut(old, "/")
	creds, err := a.loadCredentials(ctx, old)
	return err == nil && creds.AccessKeyID != old, err
}

// HasCredentials reports whether there are credentials, or settings for AWS's loader, without using them.
func (a *AWS) HasCredentials() bool {
	creds, fields, err := a.readKeys()
	return err == nil && (creds.HasKeys() || a.hasChain(fields))
}

// loadCredentials returns the keys of the environment or of the profile, else those that AWS's loader obtains, which
// are other ones than refused.
func (a *AWS) loadCredentials(ctx context.Context, refused string) (aws.Credentials, error) {
	creds, fields, err := a.readKeys()
	switch {
	case err != nil || creds.HasKeys():
		return creds, err
	case a.hasChain(fields):
		at := settingsLocation{a.Profile, a.Region, a.settingsFile("config"), a.settingsFile("credentials")}
		creds, err := cmp.Or(a.Chain, &Chain{}).retrieveCredentials(ctx, at, refused)
		switch {
		case ctx.Err() != nil:
			return creds, context.Cause(ctx)
		case err != nil:
			return creds, a.chainError(err)
		}
		return creds, nil
	case len(fields) > 0:
		return creds, fmt.Errorf("the AWS profile %q has no credentials; set them with: aws configure --profile %[1]s",
			a.profileName())
	default:
		return creds, errors.New(
			"no AWS credentials found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, " +
				"or AWS_BEARER_TOKEN_BEDROCK",
		)
	}
}

// readKeys returns the keys of the environment or of the profile, if they come first in AWS's order, and the settings
// of the profile.
func (a *AWS) readKeys() (creds aws.Credentials, fields map[string]string, err error) {
	id, secret := a.Getenv("AWS_ACCESS_KEY_ID"), a.Getenv("AWS_SECRET_ACCESS_KEY")
	if id != "" && secret != "" && a.Profile == "" {
		return aws.Credentials{
			AccessKeyID: id, SecretAccessKey: secret, SessionToken: a.Getenv("AWS_SESSION_TOKEN"), Source: "environment",
		}, nil, nil
	}
	fields, err = a.readProfile()
	if err != nil || fields["role_arn"] != "" || a.Profile == "" && a.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "" {
		return creds, fields, err
	}
	if fields["aws_access_key_id"] != "" && fields["aws_secret_access_key"] != "" {
		creds = aws.Credentials{
			AccessKeyID: fields["aws_access_key_id"], SecretAccessKey: fields["aws_secret_access_key"],
			SessionToken: fields["aws_session_token"], Source: "profile",
		}
	}
	return creds, fields, nil
}

// readProfile returns the settings of the profile in both files.
func (a *AWS) readProfile() (map[string]string, error) {
	fields := map[string]string{}
	if err := readSection(a.settingsFile("config"), configSection(a.profileName()), fields); err != nil {
		return nil, err
	}
	return fields, readSection(a.settingsFile("credentials"), a.profileName(), fields)
}

func configSection(profile string) string {
	if profile == "default" {
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
	if readSection(a.settingsFile("config"), configSection(a.profileName()), fields) != nil {
		return ""
	}
	return fields["region"]
}

// chainSettings are those of a profile from which AWS's loader obtains credentials.
var chainSettings = []string{
	"sso_session", "sso_start_url", "login_session", "role_arn", "credential_process", "web_identity_token_file",
	"credential_source",
}

// hasChain reports whether AWS's loader may obtain credentials, judged by the settings of the profile and the
// environment. An instance of EC2 counts if a region is chosen: many have no role for models.
func (a *AWS) hasChain(profile map[string]string) bool {
	for _, name := range chainSettings {
		if profile[name] != "" {
			return true
		}
	}
	for _, name := range []string{
		"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
	} {
		if a.Getenv(name) != "" {
			return true
		}
	}
	if strings.EqualFold(a.Getenv("AWS_EC2_METADATA_DISABLED"), "true") {
		return false
	}
	if a.Getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT") != "" {
		return true
	}
	maker, err := os.ReadFile("/sys/class/dmi/id/sys_vendor")
	chosen := cmp.Or(a.Getenv("AWS_REGION"), a.Getenv("AWS_DEFAULT_REGION"), profile["region"])
	return err == nil && strings.HasPrefix(string(maker), "Amazon EC2") && chosen != ""
}

func (a *AWS) settingsFile(name string) string {
	variable := map[string]string{"config": "AWS_CONFIG_FILE", "credentials": "AWS_SHARED_CREDENTIALS_FILE"}[name]
	return cmp.Or(a.Getenv(variable), filepath.Join(cmp.Or(a.Getenv("HOME"), a.Getenv("USERPROFILE")), ".aws", name))
}

// profileName is the name of the profile in use.
func (a *AWS) profileName() string { return cmp.Or(a.Profile, a.Getenv("AWS_PROFILE"), "default") }

// chainError says why AWS's loader obtained no credentials, and what to do. Failures of a service or the network are
// retryable.
func (a *AWS) chainError(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return &llm.Error{
			Class:   llm.Transport,
			Message: "AWS's credential service cannot be reached: " + e.Err.Error(),
			Err:     e,
		}
	}
	why := err.Error()
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		why = strings.TrimSuffix(e.ErrorCode()+": "+e.ErrorMessage(), ": ")
		if e.ErrorFault() == smithy.FaultServer {
			return &llm.Error{Class: llm.Overloaded, Message: "AWS issued no credentials; try again later: " + why}
		}
	}
	fix := "check the profile with: aws sts get-caller-identity --profile " + a.profileName()
	if fields, err := a.readProfile(); err == nil && fields["sso_session"]+fields["sso_start_url"] != "" {
		fix = "log in again: aws sso login --profile " + a.profileName()
	}
	return fmt.Errorf("AWS issued no credentials for the profile %q: %.400s; %s", a.profileName(), why, fix)
}
