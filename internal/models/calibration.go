package models

import (
	"math"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/statefile"
)

// calibration keeps how many tokens per byte the models count, as providers report it, in a file that all processes
// share. Losing it costs nothing but the accuracy of the next estimates.
type calibration struct {
	path string // "" keeps it in memory only

	mu     sync.Mutex // guards the rest
	ratios map[string]float64
	saved  map[string]float64 // as the file has them
}

const (
	calibratedBytes = 4096 // of the smallest request that counts: in smaller ones the vendor's own additions prevail
	newShare        = 0.3  // of a new figure in the average
	savedChange     = 0.05 // change of an average that is worth a write
	maxCalibrated   = 500  // models in the file
)

// FindRatio returns the model's tokens per byte, 0 if nothing is known of it.
func (c *calibration) FindRatio(m session.ModelRef) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.load()
	return c.ratios[m.String()]
}

// Add takes the usage of one request into the average.
func (c *calibration) Add(m session.ModelRef, size scope.RequestSize, tokens int64) {
	if size.Bytes < calibratedBytes || size.Media > 0 || size.Dense > size.Bytes/20 || tokens <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.load()
	key, ratio := m.String(), scope.ClampRatio(float64(tokens)/float64(size.Bytes))
	if before := c.ratios[key]; before > 0 {
		ratio = before + (ratio-before)*newShare
	}
	if len(c.ratios) >= maxCalibrated && c.ratios[key] == 0 {
		return
	}
	c.ratios[key] = ratio
	if c.path != "" && math.Abs(ratio-c.saved[key]) > savedChange*ratio {
		c.save()
	}
}

// load reads the file once. A file that cannot be read counts as empty.
func (c *calibration) load() {
	if c.ratios != nil {
		return
	}
	c.ratios, c.saved = map[string]float64{}, map[string]float64{}
	if c.path == "" {
		return
	}
	b, err := os.ReadFile(c.path)
	if err != nil || json.Unmarshal(b, &c.ratios) != nil || c.ratios == nil {
		c.ratios = map[string]float64{}
	}
	for key, ratio := range c.ratios {
		c.saved[key] = ratio
	}
}

// save writes the file; a failure is ignored.
func (c *calibration) save() {
	b, err := json.Marshal(c.ratios, json.Deterministic(true))
	if err != nil || os.MkdirAll(filepath.Dir(c.path), 0o700) != nil {
		return
	}
	if statefile.Replace(c.path, b, 0o600) == nil {
		for key, ratio := range c.ratios {
			c.saved[key] = ratio
		}
	}
}
