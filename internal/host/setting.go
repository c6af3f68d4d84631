package host

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

// settings are the options of a provider that say how to reach it, by our names. What is none of their values is not among
// them: the configuration's warnings name it.
type settings map[string]jsontext.Value

func settingsOf(options jsontext.Value) settings {
	var all map[string]jsontext.Value
	out := settings{}
	if len(options) == 0 || json.Unmarshal(options, &all) != nil {
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		o := option.Find(name)
		if _, want := o.Wrong(all[name], option.Vendor{}); want == "" && o.Domain != option.Foreign {
			out[o.Name] = all[name]
		}
	}
	return out
}

// text returns a setting that is text; "" if it is not set.
func (s settings) text(name string) string {
	var text string
	_ = json.Unmarshal(s[name], &text) // nothing is no text
	return strings.TrimSpace(text)
}

// flag returns a setting that is true or false.
func (s settings) flag(name string) (on, said bool) {
	return on, json.Unmarshal(s[name], &on) == nil
}

// apply returns the row with what the settings say of how it speaks, beside its address.
func (s settings) apply(row provider.Vendor) provider.Vendor {
	switch {
	case row.Row == "azure" || row.Row == "azure-cognitive-services":
		if deployed, _ := s.flag("useDeploymentBasedUrls"); deployed {
			row = row.Deployed()
		}
	case row.Scheme == provider.ByCopilot:
		if api := s.enterprise("https://copilot-api."); api != "" {
			row.BaseURL = api
		}
	case row.Wire == provider.Messages && row.Scheme == provider.ByKey && s.text("authToken") != "":
		row.KeyHeader, row.KeyPrefix = "Authorization", "Bearer "
	}
	if chat, _ := s.flag("useCompletionUrls"); chat && row.Wire == provider.Responses {
		row.Wire = provider.Chat
	}
	if keyed, said := s.flag("setCacheKey"); said {
		row.NoCacheKey, row.Dialect.CacheKey = !keyed, keyed
	}
	if usage, said := s.flag("includeUsage"); said {
		row.Dialect.NoStreamOptions = !usage
	}
	row.Headers = maps.Clone(row.Headers)
	for name, header := range map[string]struct{ row, name string }{
		"organization": {"openai", "OpenAI-Organization"}, "project": {"openai", "OpenAI-Project"},
		"appName": {"openrouter", "X-Title"}, "appUrl": {"openrouter", "HTTP-Referer"},
	} {
		if v := s.text(name); v != "" && row.Row == header.row {
			if row.Headers == nil {
				row.Headers = map[string]string{}
			}
			row.Headers[header.name] = v
		}
	}
	return row
}

// asked returns the address with the queries that are to go with every request.
func (s settings) asked(base string) string {
	var more map[string]jsontext.Value
	if json.Unmarshal(s["queryParams"], &more) != nil || len(more) == 0 {
		return base
	}
	values := url.Values{}
	for name, v := range more {
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

// enterprise is an address at the company's own GitHub; "" where there is none.
func (s settings) enterprise(prefix string) string {
	host := s.text("enterpriseUrl")
	_, after, schemed := strings.Cut(host, "://")
	if schemed {
		host = after
	}
	if host, _, _ = strings.Cut(host, "/"); host == "" {
		return ""
	}
	return prefix + host
}

// keys is an environment in which AWS's keys are those of the settings, if they hold some.
func (s settings) keys(getenv func(string) string) func(string) string {
	own := map[string]string{
		"AWS_ACCESS_KEY_ID": s.text("accessKeyId"), "AWS_SECRET_ACCESS_KEY": s.text("secretAccessKey"), "AWS_SESSION_TOKEN": s.text("sessionToken"),
	}
	if own["AWS_ACCESS_KEY_ID"] == "" || own["AWS_SECRET_ACCESS_KEY"] == "" {
		return getenv
	}
	return func(name string) string {
		if v, ours := own[name]; ours {
			return v
		}
		return getenv(name)
	}
}
