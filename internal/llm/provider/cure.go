package provider

import (
	"strings"
	"sync"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/openaichat"
)

// Cures remembers which cures the requests to models need. Share one among the Models of a process. It is safe for
// concurrent use; the zero value is ready.
type Cures struct {
	mu sync.Mutex      // guards m
	m  map[string]uint // by address and model, a bit for each cure
}

// maxCured bounds the models whose cures are remembered.
const maxCured = 1000

func (c *Cures) find(key string) uint {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.m[key]
}

func (c *Cures) add(key string, bit uint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil || len(c.m) >= maxCured {
		c.m = map[string]uint{}
	}
	c.m[key] |= bit
}

// cureRefusal finds a cure for the refusal e of the request that was not tried for the key. If there is one, it applies
// to all further requests of the key, the message of e names it, and e may be retried at once.
func (c *Cures) cureRefusal(e *llm.Error, key string, request []byte) {
	bit, advice := openaichat.FindCure(c.find(key), strings.ToLower(e.Message+"\n"+e.Body), request)
	if bit == 0 {
		return
	}
	c.add(key, bit)
	e.Cured, e.ByStatus = true, false
	e.Message += "; the next requests go " + advice
}
