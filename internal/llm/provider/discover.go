package provider

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// LocalModel is a model of a server on this machine.
type LocalModel struct {
	ID      string
	Context int64 // 0 if the server does not report it
}

// The bounds of discovery, which must not delay a start.
const (
	discoverTimeout = 100 * time.Millisecond
	maxDiscovery    = 1 << 20
	maxModels       = 200
	maxModelID      = 200
)

// Discover asks the servers of rows with a loopback address for their models, all at once and within 100 ms. It uses no
// proxy and sends no key.
func Discover(ctx context.Context, rows []Vendor) map[string][]LocalModel {
	ctx, cancel := context.WithTimeout(ctx, discoverTimeout)
	defer cancel()
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{
		Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var (
		requests sync.WaitGroup
		mu       sync.Mutex // guards out
		out      = map[string][]LocalModel{}
	)
	for _, row := range rows {
		if !isLoopback(row.BaseURL) {
			continue
		}
		requests.Go(func() {
			if found := listModels(ctx, client, row.BaseURL); len(found) > 0 {
				mu.Lock()
				defer mu.Unlock()
				out[row.ID] = found
			}
		})
	}
	requests.Wait()
	return out
}

// isLoopback reports whether the host of an address is a loopback IP address. Names do not count: they may resolve to
// any host.
func isLoopback(address string) bool {
	u, err := url.Parse(address)
	return err == nil && net.ParseIP(u.Hostname()).IsLoopback()
}

func listModels(ctx context.Context, client *http.Client, base string) []LocalModel {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(base, "/")+"/models", nil)
	if err != nil {
		return nil
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxDiscovery))
	if err != nil || !isSuccess(resp) {
		return nil
	}
	return parseModels(raw)
}

// modelEntry is an entry in OpenAI's list of models, with the sizes that vLLM and llama.cpp add.
type modelEntry struct {
	ID   string `json:"id"`
	Max  int64  `json:"max_model_len"`
	Meta struct {
		Trained int64 `json:"n_ctx_train"`
	} `json:"meta"`
}

// parseModels decodes OpenAI's list of models. It skips embedding models and invalid entries.
func parseModels(raw []byte) []LocalModel {
	var list struct {
		Data []jsontext.Value `json:"data"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	var out []LocalModel
	for _, row := range list.Data {
		var m modelEntry
		if json.Unmarshal(row, &m) != nil || m.ID == "" || len(m.ID) > maxModelID ||
			strings.Contains(strings.ToLower(m.ID), "embed") ||
			strings.ContainsFunc(m.ID, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			continue
		}
		if len(out) == maxModels {
			break
		}
		out = append(out, LocalModel{m.ID, max(m.Max, m.Meta.Trained, 0)})
	}
	return out
}
