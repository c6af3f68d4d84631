//go:build unix

package crashtest

import (
	"crypto/sha256"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

// callLog is the provider's record of its calls. The first words of each answer are its number.
type callLog struct {
	isOn  bool
	mu    sync.Mutex // guards the rest
	life  int        // of the server, counted from 1; the API key of a life is its number
	calls []loggedCall
}

type loggedCall struct {
	life     string // the API key: a request of a killed server may be handled in the next life
	request  [sha256.Size]byte
	answered bool // completely
}

// recordStart returns the number of the call.
func (l *callLog) recordStart(life string, body []byte) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, loggedCall{life: life, request: sha256.Sum256(body)})
	return len(l.calls) - 1
}

func (l *callLog) recordEnd(n int, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls[n].answered = r.Context().Err() == nil
}

// startLife returns the API key of the next life.
func (l *callLog) startLife() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.life++
	return strconv.Itoa(l.life)
}

// priceOfCall is the price of each answer: 10 tokens of input and 5 of output.
const priceOfCall = session.USD(10*3+5*15) * session.Dollar / 1_000_000

var answerNumber = regexp.MustCompile(`^answer ([0-9]+)\. `)

// charges are the costs of the stored turns, by the numbers of their answers.
type charges map[int]session.USD

// addTurn adds a stored turn. A turn that ended well is charged; an answer belongs to one turn.
func (c charges) addTurn(t testing.TB, a *session.Assistant) {
	for _, part := range a.Content {
		text, ok := part.(*session.Text)
		if !ok {
			continue
		}
		match := answerNumber.FindStringSubmatch(text.Text)
		if match == nil {
			continue
		}
		n, _ := strconv.Atoi(match[1])
		if _, again := c[n]; again {
			t.Errorf("the answer %d is stored twice", n)
		}
		c[n] = 0
		if a.Cost != nil {
			c[n] = *a.Cost
		}
		if a.Error == nil && c[n] != priceOfCall {
			t.Errorf("the turn with the answer %d cost %v, want %v", n, c[n], priceOfCall)
		}
	}
}

// checkCharges compares the charges with the calls. In a life that did not end in a kill each answer is charged once and
// no request is repeated; a kill may lose the answers that were on their way, of which there are at most inFlight.
func (l *callLog) checkCharges(t testing.TB, c charges, spent session.USD, inFlight int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var sum session.USD
	for n, cost := range c {
		sum += cost
		if cost != 0 && !l.calls[n].answered {
			t.Errorf("the answer %d is charged, and was not complete", n)
		}
	}
	if sum != spent {
		t.Errorf("the spend has %v, the turns %v", spent, sum)
	}
	lost := map[string]int{} // by life
	sent := map[loggedCall]bool{}
	for n, call := range l.calls {
		if call.answered && c[n] == 0 {
			lost[call.life]++
		}
		call.answered = false
		if sent[call] {
			t.Errorf("the request of the call %d was sent twice by one process", n)
		}
		sent[call] = true
	}
	t.Logf("%d calls, %d answers stored, lost by life: %v", len(l.calls), len(c), lost)
	for life, n := range lost {
		if life == strconv.Itoa(l.life) || n > inFlight {
			t.Errorf("%d answers of life %s of %d are not charged", n, life, l.life)
		}
	}
}
