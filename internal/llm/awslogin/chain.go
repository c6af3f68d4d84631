package awslogin

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
)

// Chain obtains the credentials of a profile or environment without keys by the loader of AWS: single sign-on,
// roles, credential processes, web identities, and the services of containers and instances. It keeps them until they
// are about to expire or the files of the AWS settings change. The loader reads the environment of the process.
type Chain struct {
	mu     sync.Mutex // guards what follows
	loaded string     // identifies the settings that source was made from
	source aws.CredentialsProvider
}

// chainTimeout bounds the wait for credentials: several requests, or a program that asks the user.
const chainTimeout = time.Minute

// settingsLocation names the profile and files in which the loader finds the settings of a login. An empty profile is
// that of the environment.
type settingsLocation struct{ profile, region, configFile, credentialsFile string }

// retrieveCredentials returns valid credentials, other ones than refused if that is not empty.
func (c *Chain) retrieveCredentials(ctx context.Context, at settingsLocation, refused string) (aws.Credentials, error) {
	ctx, cancel := context.WithTimeout(ctx, chainTimeout)
	defer cancel()
	source, err := c.openSource(ctx, at)
	if err != nil {
		return aws.Credentials{}, err
	}
	creds, err := source.Retrieve(ctx)
	if cached, ok := source.(*aws.CredentialsCache); ok && err == nil && creds.AccessKeyID == refused {
		cached.Invalidate()
		creds, err = cached.Retrieve(ctx)
	}
	return creds, err
}

// openSource returns the source for the profile. It reads the settings again if their files changed.
func (c *Chain) openSource(ctx context.Context, at settingsLocation) (aws.CredentialsProvider, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := fmt.Sprintf("%q", at)
	for _, file := range []string{at.configFile, at.credentialsFile} {
		if info, err := os.Stat(file); err == nil {
			now += fmt.Sprintln("", info.Size(), info.ModTime().UnixNano())
		}
	}
	if c.source != nil && c.loaded == now {
		return c.source, nil
	}
	cfg, err := config.LoadDefaultConfig(
		ctx,
		config.WithRegion(at.region), config.WithSharedConfigProfile(at.profile),
		config.WithSharedConfigFiles([]string{at.configFile}),
		config.WithSharedCredentialsFiles([]string{at.credentialsFile}),
	)
	if err != nil {
		return nil, err
	}
	c.loaded, c.source = now, cfg.Credentials
	return c.source, nil
}
