package plugin

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// Transport sends requests to a provider with the fetch of the plugin that LoadAuth has asked.
func (s *Set) Transport(provider string) http.RoundTripper { return authTransport{s, provider} }

type authTransport struct {
	set      *Set
	provider string
}

// maxRequestBody bounds the body of a request that a plugin sends, in bytes.
const maxRequestBody = 48 << 20

// RoundTrip implements http.RoundTripper.
func (t authTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent []byte
	if r.Body != nil {
		var err error
		sent, err = io.ReadAll(io.LimitReader(r.Body, maxRequestBody+1))
		_ = r.Body.Close()
		if err != nil {
			return nil, err
		}
		if len(sent) > maxRequestBody {
			return nil, fmt.Errorf("the request has more than %d bytes", maxRequestBody)
		}
	}
	headers := map[string]string{}
	for name := range r.Header {
		headers[name] = r.Header.Get(name)
	}
	// The pieces of the answer are taken while the request is under way.
	stream, body := t.set.responses.add()
	var head apiHead
	err := t.set.call(r.Context(), "auth/fetch", object{
		"provider": t.provider, "stream": stream, "method": r.Method, "url": r.URL.String(), "headers": headers,
		"body": base64.StdEncoding.EncodeToString(sent),
	}, &head, func(p *peer, _ int64) { body.setSource(p) })
	if err != nil {
		t.set.responses.end(stream, err)
		return nil, fmt.Errorf("the plugin that sends requests to %s failed: %w", t.provider, err)
	}
	// The end of the request, or of the reading, ends it at the provider too.
	end := sync.OnceFunc(func() {
		if t.set.responses.end(stream, cmp.Or(context.Cause(r.Context()), errUnread)) {
			body.cancel(stream)
		}
	})
	stop := context.AfterFunc(r.Context(), end)
	body.onClose = func() {
		stop()
		end()
	}
	answer := &http.Response{
		Status: http.StatusText(head.Status), StatusCode: head.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: body, ContentLength: -1, Request: r,
	}
	for name, value := range head.Headers {
		if name := http.CanonicalHeaderKey(name); name != "Content-Encoding" && name != "Content-Length" { // fetch has decoded it
			answer.Header.Set(name, value)
		}
	}
	return answer, nil
}
