package pty

import (
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/access/caller"
)

// TicketLife is the validity of a ticket.
const TicketLife = 30 * time.Second

// maxTickets bounds the unused tickets.
const maxTickets = 10_000

// tickets are random words with which a client attaches once to one terminal: WebSockets of browsers cannot send
// credentials. The zero value is ready to use.
type tickets struct {
	mu sync.Mutex // guards m
	m  map[string]ticket
}

type ticket struct {
	holder        Holder
	directory, id string
	until         time.Time
}

// Holder is who may use a ticket: the caller that it was issued to, from the same page.
type Holder struct {
	Caller caller.Caller
	Origin string // of the page; "" is no browser
}

// IssueTicket returns a ticket for a terminal of the directory.
func (t *Terminals) IssueTicket(directory, id string, h Holder) (string, error) {
	if _, err := t.findTerminal(directory, id); err != nil {
		return "", err
	}
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	word := fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	t.tickets.addTicket(word, ticket{h, directory, id, time.Now().Add(TicketLife)})
	return word, nil
}

func (s *tickets) addTicket(word string, k ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = map[string]ticket{}
	}
	if len(s.m) >= maxTickets {
		for w, old := range s.m {
			if time.Now().After(old.until) || len(s.m) >= maxTickets {
				delete(s.m, w)
			}
		}
	}
	s.m[word] = k
}

// FindTicket returns the holder of a ticket that is valid for a terminal with this ID. It does not use the ticket.
func (t *Terminals) FindTicket(word, id string) (Holder, bool) {
	s := &t.tickets
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.m[word]
	return k.holder, ok && k.id == id && time.Now().Before(k.until)
}

// RedeemTicket returns the holder of a ticket that is valid for the terminal of the directory, and uses the ticket.
func (t *Terminals) RedeemTicket(word, directory, id string) (Holder, bool) {
	s := &t.tickets
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.m[word]
	delete(s.m, word)
	return k.holder, ok && k.id == id && k.directory == directory && time.Now().Before(k.until)
}
