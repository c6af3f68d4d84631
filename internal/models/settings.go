package models

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/option"
	"github.com/cairn-dev/cairn/internal/llm/provider"
)

// settings are the options of a provider that change how it is reached, by the names that cairn gives them. Invalid
// values are left out; the configuration warns of them.
type settings map[string]jsontext.Value

func parseSettings(options jsontext.Value) settings {
	var all map[string]jsontext.Value
	out := settings{}
	if len(options) == 0 || json.Unmarshal(options, &all) != nil {
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		o := option.Find(name)
		if _, want := o.FindProblem(all[name], option.Vendor{}); want == "" && o.Domain != option.Foreign {
			out[o.Name] = all[name]
		}
	}
	return out
}

// getText returns a string; "" if it is not set.
func (s settings) getText(name string) string {
	var text string
	_ = json.Unmarshal(s[name], &text) // leaves it empty if there is no such setting
	return strings.TrimSpace(text)
}

// getFlag returns a boolean, and whether it is set.
func (s settings) getFlag(name string) (on, isSet bool) {
	return on, json.Unmarshal(s[name], &on) == nil
}

// applyTo returns the row as the settings change it, except for its address.
// The row is a copy; what it shares with the table is cloned before it changes.
func (s settings) applyTo(row provider.Vendor) provider.Vendor {
	// Settings of single vendors.
	switch {
	case row.TableID == "azure" || row.TableID == "azure-cognitive-services":
		if byDeployment, _ := s.getFlag("useDeploymentBasedUrls"); byDeployment {
			row = row.WithDeployments()
		}
	case row.Scheme == provider.AuthCopilot:
		if api := s.enterpriseURL("https://copilot-api."); api != "" {
			row.BaseURL = api
		}
	case row.Wire == provider.Messages && row.Scheme == provider.AuthKey && s.getText("authToken") != "":
		row.KeyHeader, row.KeyPrefix = "Authorization", "Bearer "
	}
	// Settings of protocols. Unset ones leave the vendor's default.
	if chat, _ := s.getFlag("useCompletionUrls"); chat && row.Wire == provider.Responses {
		row.Wire = provider.Chat
	}
	if cacheKey, isSet := s.getFlag("setCacheKey"); isSet {
		row.NoCacheKey, row.Dialect.CacheKey = !cacheKey, cacheKey
	}
	if usage, isSet := s.getFlag("includeUsage"); isSet {
		row.Dialect.NoStreamOptions = !usage
	}
	// Headers that are settings with a name, of the vendor that knows them.
	row.Headers = maps.Clone(row.Headers)
	for name, header := range map[string]struct{ row, name string }{
		"organization": {"openai", "OpenAI-Organization"}, "project": {"openai", "OpenAI-Project"},
		"appName": {"openrouter", "X-Title"}, "appUrl": {"openrouter", "HTTP-Referer"},
	} {
		if v := s.getText(name); v != "" && row.TableID == header.row {
			if row.Headers == nil {
				row.Headers = map[string]string{}
			}
			row.Headers[header.name] = v
		}
	}
	return row
}

// addQuery returns the address with the query parameters that are configured for every request.
func (s settings) addQuery(base string) string {
	var params map[string]jsontext.Value
	if json.Unmarshal(s["queryParams"], &params) != nil || len(params) == 0 {
		return base
	}
	values := url.Values{}
	for name, v := range params {
		var text string
		if json.Unmarshal(v, &text) != nil {
			text = string(v)
		}
		values.Set(name, text)
	}
	sep := "?"
	if strings.Contains(base, "?") {
		sep = "&"
	}
	return base + sep + values.Encode()
}

// enterpriseURL returns the address of a GitHub Enterprise server with a prefix before its host; "" if none is
// configured.
func (s settings) enterpriseURL(prefix string) string {
	host := s.getText("enterpriseUrl")
	_, after, hasScheme := strings.Cut(host, "://")
	if hasScheme {
		host = after
	}
	if host, _, _ = strings.Cut(host, "/"); host == "" {
		return ""
	}
	return prefix + host
}

// awsEnvironment returns an environment with the access key of the settings, if they have one.
func (s settings) awsEnvironment(getenv func(string) string) func(string) string {
	configured := map[string]string{
		"AWS_ACCESS_KEY_ID":     s.getText("accessKeyId"),
		"AWS_SECRET_ACCESS_KEY": s.getText("secretAccessKey"),
		"AWS_SESSION_TOKEN":     s.getText("sessionToken"),
	}
	if configured["AWS_ACCESS_KEY_ID"] == "" || configured["AWS_SECRET_ACCESS_KEY"] == "" {
		return getenv
	}
	return func(name string) string {
		if v, ok := configured[name]; ok {
			return v
		}
		return getenv(name)
	}
}
