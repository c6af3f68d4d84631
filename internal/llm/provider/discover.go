package provider

import (
	"cmp"
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

	"github.com/cairn-dev/cairn/internal/llm/wire"
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

// Discover asks the servers of rows with a loopback address, and the Ollama of OLLAMA_HOST, for their models, all at
// once and within 100 ms. It uses no proxy and sends no key.
func Discover(ctx context.Context, rows []Vendor) map[string][]LocalModel {
	ctx, cancel := context.WithTimeout(ctx, discoverTimeout)
	defer cancel()
	// Make a client without a proxy and without redirects.
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
	// Ask each server in a goroutine. Sizes are read only where models were found.
	for _, row := range rows {
		if !isLoopback(row.BaseURL) && row.TableID != "ollama" {
			continue
		}
		requests.Go(func() {
			found := listModels(ctx, client, row.BaseURL)
			if addSizes := sizeReaders[row.TableID]; addSizes != nil && len(found) > 0 {
				addSizes(ctx, client, strings.TrimSuffix(row.BaseURL, "/v1"), found)
			}
			if len(found) > 0 {
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
	return parseModels(readServer(ctx, client, strings.TrimRight(base, "/")+"/models", ""))
}

// readServer returns the answer to a GET, or to a POST of body; nil without a good one.
func readServer(ctx context.Context, client *http.Client, address, body string) []byte {
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
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
	return raw
}

// sizeReaders read context sizes from the native APIs of servers whose list of models has no sizes.
var sizeReaders = map[string]func(context.Context, *http.Client, string, []LocalModel){
	"ollama": addOllamaSizes, "lmstudio": addLMStudioSizes,
}

// maxShown bounds the models of an Ollama whose sizes are asked for.
const maxShown = 50

// addOllamaSizes sets each model's context size: the one that it is loaded with, else the configured num_ctx, else the
// length that it was trained with.
func addOllamaSizes(ctx context.Context, client *http.Client, root string, models []LocalModel) {
	// Ask for the models in parallel; each request writes only its own element. Failures leave the size unknown.
	var requests sync.WaitGroup
	for i := range models[:min(len(models), maxShown)] {
		requests.Go(func() {
			var shown struct {
				Parameters string                    `json:"parameters"`
				Info       map[string]jsontext.Value `json:"model_info"`
			}
			body := `{"model":` + string(wire.Quote(models[i].ID)) + `}`
			if json.Unmarshal(readServer(ctx, client, root+"/api/show", body), &shown) != nil {
				return
			}
			// The length of its training, then num_ctx over it.
			for name, v := range shown.Info {
				if strings.HasSuffix(name, ".context_length") {
					_ = json.Unmarshal(v, &models[i].Context)
				}
			}
			for line := range strings.Lines(shown.Parameters) {
				if f := strings.Fields(line); len(f) == 2 && f[0] == "num_ctx" {
					_ = json.Unmarshal([]byte(f[1]), &models[i].Context)
				}
			}
		})
	}
	// Meanwhile ask which models are loaded, and with which size.
	var loaded struct {
		Models []struct {
			Model   string `json:"model"`
			Context int64  `json:"context_length"`
		} `json:"models"`
	}
	_ = json.Unmarshal(readServer(ctx, client, root+"/api/ps", ""), &loaded)
	requests.Wait()
	// The size in use overrides the others, so wait until they are set.
	for i, m := range models {
		for _, l := range loaded.Models {
			if l.Model == m.ID && l.Context > 0 {
				models[i].Context = l.Context
			}
		}
	}
}

// addLMStudioSizes sets each model's context size: the one that it is loaded with, else its maximum.
func addLMStudioSizes(ctx context.Context, client *http.Client, root string, models []LocalModel) {
	var list struct {
		Data []struct {
			ID     string `json:"id"`
			Max    int64  `json:"max_context_length"`
			Loaded int64  `json:"loaded_context_length"`
		} `json:"data"`
	}
	_ = json.Unmarshal(readServer(ctx, client, root+"/api/v0/models", ""), &list)
	for i, m := range models {
		for _, d := range list.Data {
			if d.ID == m.ID {
				models[i].Context = max(cmp.Or(d.Loaded, d.Max), 0)
			}
		}
	}
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
