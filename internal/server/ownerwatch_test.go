package server

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// owned is a transport whose requests, except for the first ones for health, wait until they are cancelled.
type owned struct {
	healthy int // answers to requests for health
	release chan struct{}
}

func (o *owned) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Path == "/api/health" && o.healthy > 0 {
		if o.healthy--; o.healthy == 0 && o.release != nil {
			close(o.release)
		}
		return &http.Response{Body: http.NoBody}, nil
	}
	release := o.release
	if req.URL.Path == "/api/health" {
		release = nil
	}
	select {
	case <-release:
		return &http.Response{Body: http.NoBody}, nil
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}

// TestOwnerWatch: a request may take long while the owner answers others, and ends if it does not.
func TestOwnerWatch(t *testing.T) {
	for _, tt := range []struct {
		name  string
		owner *owned
		want  error
	}{
		{"slow", &owned{healthy: 5}, nil},
		{"stopped", &owned{}, errOwnerSilent},
		{"stops", &owned{healthy: 3}, errOwnerSilent},
	} {
		synctest.Test(t, func(t *testing.T) {
			if tt.name == "slow" {
				tt.owner.release = make(chan struct{})
			}
			watch := &ownerWatch{patience: time.Second, next: tt.owner}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/session", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := watch.RoundTrip(req)
			if !errors.Is(err, tt.want) || (resp != nil) != (tt.want == nil) {
				t.Errorf("%s: response %v, error %v", tt.name, resp, err)
			}
		})
	}
}
