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

// Found is a model that a server on this machine offers.
type Found struct {
	ID      string
	Context int64 // 0 if the server does not say
}

// The bounds of looking around: nobody waits for a server that may not be there.
const (
	discoverTime = 100 * time.Millisecond
	maxDiscovery = 1 << 20
	maxFound     = 200
	maxFoundID   = 200
)

// Discover asks the servers of the rows that stand on this machine for their models, all at once and within 100 ms. Rows
// elsewhere are not asked, no proxy is, and no key is sent.
func Discover(ctx context.Context, rows []Vendor) map[string][]Found {
	ctx, cancel := context.WithTimeout(ctx, discoverTime)
	defer cancel()
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	var (
		asked sync.WaitGroup
		mu    sync.Mutex // guards out
		out   = map[string][]Found{}
	)
	for _, row := range rows {
		if !local(row.BaseURL) {
			continue
		}
		asked.Go(func() {
			if found := models(ctx, client, row.BaseURL); len(found) > 0 {
				mu.Lock()
				defer mu.Unlock()
				out[row.ID] = found
			}
		})
	}
	asked.Wait()
	return out
}

// local reports whether an address is one of this machine alone. Names are not: they may be anybody's.
func local(address string) bool {
	u, err := url.Parse(address)
	return err == nil && net.ParseIP(u.Hostname()).IsLoopback()
}

func models(ctx context.Context, client *http.Client, base string) []Found {
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
	if err != nil || !good(resp) {
		return nil
	}
	return readFound(raw)
}

// listed is a model in OpenAI's list, with what vLLM and llama.cpp say about sizes beyond it.
type listed struct {
	ID   string `json:"id"`
	Max  int64  `json:"max_model_len"`
	Meta struct {
		Trained int64 `json:"n_ctx_train"`
	} `json:"meta"`
}

// readFound reads OpenAI's list of models. Those that only measure text are left out, and so is what is no model: it says
// nothing about the others.
func readFound(raw []byte) []Found {
	var list struct {
		Data []jsontext.Value `json:"data"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	var out []Found
	for _, row := range list.Data {
		var m listed
		if json.Unmarshal(row, &m) != nil || m.ID == "" || len(m.ID) > maxFoundID || strings.Contains(strings.ToLower(m.ID), "embed") ||
			strings.ContainsFunc(m.ID, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			continue
		}
		if len(out) == maxFound {
			break
		}
		out = append(out, Found{m.ID, max(m.Max, m.Meta.Trained, 0)})
	}
	return out
}
