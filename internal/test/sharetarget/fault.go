package sharetarget

// Operation is one of the four things that a client asks of the target.
type Operation string

// The operations.
const (
	Create Operation = "create"
	Sync   Operation = "sync"
	Delete Operation = "delete"
	Data   Operation = "data"
)

// Fault is a way in which the target fails.
type Fault string

// The faults. Without a note a fault has no other effect than its answer: nothing is stored, nothing removed.
const (
	Down        Fault = "down"         // closes the connection without a response
	Held        Fault = "held"         // answers when the target recovers, as if nothing had been wrong
	Late        Fault = "late"         // acts as if nothing was wrong, and answers when the target recovers
	Page        Fault = "page"         // 200 with an HTML page, as a login page or a captive portal answers
	Broken      Fault = "broken"       // 500
	TimedOut    Fault = "timed out"    // 504, as a proxy answers while the target still works
	Missing     Fault = "missing"      // 404
	Empty       Fault = "empty"        // 200 with {}, which for Create lacks id, url and secret
	OtherID     Fault = "other id"     // Create stores the share but answers an id that the target does not know
	EmptySecret Fault = "empty secret" // Create stores the share but answers an empty secret
	BadURL      Fault = "bad url"      // Create stores the share but answers an address of no use
	OtherHost   Fault = "other host"   // Create stores the share but answers an address of another host
	KeepData    Fault = "keep data"    // Delete answers 200 with {}; the share and its data stay
)

// Fail makes operations fail in one way until the target recovers; without operations, all of them. A later call
// replaces an earlier one for the same operation.
func (t *Target) Fail(fault Fault, operations ...Operation) {
	if len(operations) == 0 {
		operations = []Operation{Create, Sync, Delete, Data}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, op := range operations {
		t.faults[op] = fault
	}
}

// Recover ends all faults and answers the requests that are held.
func (t *Target) Recover() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.faults)
	close(t.released)
	t.released = make(chan struct{})
}
