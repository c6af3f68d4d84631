package sharepage

import "time"

// Age makes the lists of secrets old, so that they are listed again.
func (p *Pages) Age() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.open {
		b.known.listed = time.Time{}
	}
}
